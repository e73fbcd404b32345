"""GAMP of empirical risk minimisation; one replica is one data set."""

from attention_limits.sequence_multi_index.erm import gamp
from attention_limits.sequence_multi_index.erm.task import collect_fits


def run(spec, streams):
    """Overlaps, training objective and test errors of the fixed point (see `variables`)."""

    def fit(training):
        data, (start,) = training.data, training.starts
        loss, solver = training.task.loss, spec["solver"]
        found = gamp.run(loss, data.outputs, data.sequences, training.ridge, start, solver, data.anchors)
        return found, {"susceptibility": found.variance}

    return collect_fits(spec, streams, fit)
