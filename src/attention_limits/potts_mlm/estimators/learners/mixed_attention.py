"""Fits of attention layers between factored (a = 0) and position-free (a = 1) to shared sequences, from random starts."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.attention.mixed import fit, losses
from attention_limits.potts_mlm.attention.training_sets import training_set
from attention_limits.potts_mlm.descent.lbfgs import stacked
from attention_limits.potts_mlm.descent.minima import of_starts

_PER_START = (
    "mixed_objective",
    "mixed_training_loss",
    "mixed_test_loss",
    "mixed_gradient_norm",
    "mixed_iterations",
    "mixed_converged",
)
_DIMS = {
    **dict.fromkeys(_PER_START, ("attention", "start")),
    **dict.fromkeys(("mixed_chosen", "mixed_agreeing_starts", "mixed_confirmed"), ("attention",)),
}


def run(spec, streams):
    """Losses of every start, and the start with the smallest objective (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        data = spec["data"](replica, **at)
        sequences = training_set(streams, data, replica, at, solver.samples)
        rng = streams.generator("start", replica)
        found = [_all_starts(kind, sequences, data, at["mixing"], solver, rng) for kind in solver.attentions]
        return stacked(found)

    return collect(spec, compute, _DIMS, {"attention": np.array(solver.attentions)})


def _all_starts(attention, sequences, data, mixing, solver, rng):
    """All starts of one kind of attention: {variable: array}."""
    softmax = attention == "softmax"
    fits = [
        fit(
            sequences, data.sizes["color"], child, mixing=mixing, softmax=softmax, ridge=solver.ridge,
            settings=solver,
        )
        for child in rng.spawn(solver.starts)
    ]  # fmt: skip
    test = data.test_states.values
    return {
        **of_starts(fits, "mixed_"),
        "mixed_test_loss": [losses(item.scores, item.values, test, mixing, softmax).mean() for item in fits],
    }
