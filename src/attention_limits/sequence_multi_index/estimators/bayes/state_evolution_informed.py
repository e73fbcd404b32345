"""The state evolution from the informed start: a gap to the uninformed one shows a hard phase."""

from attention_limits.sequence_multi_index.estimators.bayes.state_evolution import run

__all__ = ["run"]
