"""Relaxed belief propagation, on the data sets that `gamp` reads."""

from attention_limits.sequence_multi_index.estimators.bayes.gamp import run

__all__ = ["run"]
