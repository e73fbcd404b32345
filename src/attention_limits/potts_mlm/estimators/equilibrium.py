"""What is known about the samples that the learners of an experiment share: kept, since the samples themselves are not."""

from attention_limits.potts_mlm.estimators.points import collect
from attention_limits.potts_mlm.estimators.potts_samples import DIMS

_STATES = ("training_states", "test_states", "frequency")


def run(spec, streams):
    """Couplings, temperature, distances and their errors, convergence, optimal loss (see `variables`)."""

    def compute(replica, **point):
        data = spec["data"](replica, **point)
        return {name: array.values for name, array in data.data_vars.items() if name not in _STATES}

    return collect(spec, compute, DIMS, {"run": [1, 2]})
