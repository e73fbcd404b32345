"""Minimisation of the empirical risk by L-BFGS; one replica is one data set."""

from attention_limits.sequence_multi_index.erm.minimisation import minimise
from attention_limits.sequence_multi_index.erm.task import collect_fits


def run(spec, streams):
    """Overlaps, training objective and test errors of the minimum (see `variables`)."""

    def fit(loss, outputs, sequences, ridge, start, _):
        return minimise(loss, outputs, sequences, ridge, start, spec["solver"]), {}

    return collect_fits(spec, streams, fit)
