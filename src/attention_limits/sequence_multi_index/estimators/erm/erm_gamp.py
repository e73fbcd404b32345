"""GAMP of empirical risk minimisation; one replica is one data set."""

from attention_limits.sequence_multi_index.erm import gamp
from attention_limits.sequence_multi_index.erm.task import collect_fits


def run(spec, streams):
    """Overlaps, training objective and test errors of the fixed point (see `variables`)."""

    def fit(loss, outputs, sequences, ridge, start, anchors):
        found = gamp.run(loss, outputs, sequences, ridge, start, spec["solver"], anchors)
        return found, {"susceptibility": found.variance}

    return collect_fits(spec, streams, fit)
