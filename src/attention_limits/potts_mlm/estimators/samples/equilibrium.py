"""Couplings and diagnostics of the samples that all learners share. The cube keeps them; it does not keep the samples."""

from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.attention.training_sets import sites_from_one
from attention_limits.potts_mlm.estimators.samples.potts_samples import DIMS, RUNS

_LEFT_OUT = ("training_states", "test_states", "frequency")


def run(spec, streams):
    """Couplings, temperature, distances and their errors, convergence, optimal loss (see `variables`)."""

    def compute(at, replica):
        data = spec["data"](replica, **at)
        return {name: array.values for name, array in data.data_vars.items() if name not in _LEFT_OUT}

    return sites_from_one(collect(spec, compute, DIMS, RUNS))
