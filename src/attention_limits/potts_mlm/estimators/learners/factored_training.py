"""Stochastic gradient descent trains factored attention on shared sequences."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.attention.factored_training import train
from attention_limits.potts_mlm.attention.training_sets import optimal_loss, training_set, true_couplings
from attention_limits.potts_mlm.descent.epochs import evaluated_epochs
from attention_limits.potts_mlm.potts.recovery import contact_precision, site_error

_NAMES = ("factored_training_loss", "factored_test_loss", "factored_site_error", "factored_precision")
_DIMS = dict.fromkeys(_NAMES, ("attention", "epoch"))


def run(spec, streams):
    """Losses and errors of the attention by epoch, raw and softmax (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        data = spec["data"](replica, **at)
        sequences = training_set(streams, data, replica, at, at["samples"])
        test = data.test_states.values[: solver.test_sequences]
        J = true_couplings(data)
        rng = streams.generator("training", replica)
        done = [
            train(sequences, test, data.sizes["color"], child, kind, solver)
            for kind, child in zip(solver.attentions, rng.spawn(len(solver.attentions)), strict=True)
        ]
        return {
            "factored_optimal_loss": optimal_loss(data, test),
            "factored_training_loss": [item.training_loss for item in done],
            "factored_test_loss": [item.test_loss for item in done],
            "factored_site_error": [[site_error(one, J) for one in item.attention] for item in done],
            "factored_precision": [[contact_precision(one, J) for one in item.attention] for item in done],
        }

    coordinates = {
        "attention": np.array(solver.attentions),
        "epoch": evaluated_epochs(solver.epochs, solver.evaluations),
    }
    return collect(spec, compute, _DIMS, coordinates)
