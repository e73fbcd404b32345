"""Stacked factored attention trained on sequences with terms of q sites, and the orders of interaction that it learns."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.attention.factored import independent_losses
from attention_limits.potts_mlm.descent.epochs import evaluated_epochs
from attention_limits.potts_mlm.estimators.many_body.many_body_samples import instance_of
from attention_limits.potts_mlm.many_body.orders import learned_fraction
from attention_limits.potts_mlm.many_body.stacked import Shape, train

INTERACTIONS = (2, 3, 4, 5)
_DIMS = {
    "stacked_training_loss": ("epoch",),
    "stacked_test_loss": ("epoch",),
    "stacked_fraction": ("epoch", "interaction"),
    "stacked_fraction_error": ("epoch", "interaction"),
}
_KEYS = ("learning_rate", "batch", "epochs", "evaluations")


def run(spec, streams):
    """Losses by epoch, and the share of each order in the logits (see `variables`).

    All depths and sample sizes of a replica see the same sequences; a larger training set contains the smaller ones.
    """
    solver = spec["solver"]
    settings = {key: getattr(solver, key) for key in _KEYS}

    def compute(at, replica):
        data = spec["data"](replica, **at)
        model = instance_of(spec["reads"]["model"], spec["family"], int(at["order"]), streams, replica)
        sequences = data.training_states.values[: int(at["samples"])].astype(int)
        test = data.test_states.values[: solver.test_sequences].astype(int)
        probes = streams.generator("probes", replica).integers(0, model.colors, (solver.probes, model.sites))
        shape = Shape(model.sites, model.colors, int(at["depth"]), solver.heads, solver.width)
        done = train(shape, sequences, test, probes, streams.generator("training", replica), settings)
        there = {part.order for part in model.terms}
        shares = [
            [
                learned_fraction(seen, model, probes, order) if order in there else (np.nan, np.nan)
                for order in INTERACTIONS
            ]
            for seen in done.logits
        ]
        return {
            "stacked_training_loss": done.training_loss,
            "stacked_test_loss": done.test_loss,
            "stacked_optimal_loss": model.losses(test).mean(),
            "stacked_independent_loss": independent_losses(sequences, test, model.colors).mean(),
            "stacked_fraction": np.array(shares)[..., 0],
            "stacked_fraction_error": np.array(shares)[..., 1],
            "stacked_in_equilibrium": bool(data.many_body_converged),
        }

    coordinates = {
        "epoch": evaluated_epochs(solver.epochs, solver.evaluations),
        "interaction": np.array(INTERACTIONS),
    }
    return collect(spec, compute, _DIMS, coordinates)
