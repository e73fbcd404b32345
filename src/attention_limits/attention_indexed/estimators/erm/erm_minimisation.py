"""Minimisation of the training error with weight decay; one replica is one teacher with its data."""

from attention_limits.attention_indexed.erm.simulations.minimisation import minimise
from attention_limits.attention_indexed.estimators.erm.fits import collect_fits


def run(spec, streams):
    """Errors, objective, spectrum and rank of the minimum (see `variables`)."""

    def fit(data, decay):
        found = minimise(data, decay, spec["solver"])
        return found.S, found.end()

    return collect_fits(spec, streams, fit)
