"""Message passing for the training error with weight decay; one replica is one teacher with its data."""

from attention_limits.attention_indexed.erm.simulations import message_passing
from attention_limits.attention_indexed.estimators.erm.fits import collect_fits


def run(spec, streams):
    """Errors, objective, spectrum and rank of the last iterate (see `variables`)."""

    def fit(data, decay):
        found = message_passing.run(data, decay, spec["solver"])
        return found.S, {**found.end(), "diverged": found.diverged}

    return collect_fits(spec, streams, fit)
