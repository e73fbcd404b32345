"""Stochastic gradient descent and Adam train transformer encoders on shared sequences."""

import numpy as np

from attention_limits.pipeline.points import collect
from attention_limits.potts_mlm.sequences import sites_from_one, training_set
from attention_limits.potts_mlm.transformer import OPTIMIZERS, Schedule, Shape, evaluated_epochs, train

_DIMS = {
    "transformer_gradient_norm": ("optimizer",),
    "transformer_converged": ("optimizer",),
    "transformer_training_loss": ("optimizer", "epoch"),
    "transformer_test_loss": ("optimizer", "epoch"),
    "transformer_map": ("optimizer", "site", "site_other"),
}


def run(spec, streams):
    """Losses by epoch and the attention at the end, averaged over layers (see `variables`).

    Both optimisers, all sample sizes and distances of a replica begin with the same weights.
    """
    solver = spec["solver"]

    def schedule(optimizer):
        rate = solver[f"{optimizer}_learning_rate"]
        return Schedule(optimizer, rate, solver["batch"], solver["epochs"], solver["evaluations"])

    def compute(at, replica):
        data = spec["data"](replica, **at)
        sequences = training_set(streams, data, replica, at, at["samples"])
        test = data.test_states.values[: solver["test_sequences"]]
        shape = Shape(sequences.shape[1], data.sizes["color"], at["layers"], solver["width"], solver["hidden"])
        done = [
            train(shape, sequences, test, streams.generator("training", replica), schedule(optimizer))
            for optimizer in OPTIMIZERS
        ]
        return {
            "transformer_training_loss": [item.training_loss for item in done],
            "transformer_test_loss": [item.test_loss for item in done],
            "transformer_gradient_norm": [item.gradient_norm for item in done],
            "transformer_converged": [item.gradient_norm <= solver["tolerance"] for item in done],
            "transformer_map": [item.attention.mean(axis=0) for item in done],
        }

    epochs = evaluated_epochs(solver["epochs"], solver["evaluations"])
    return sites_from_one(collect(spec, compute, _DIMS, {"optimizer": np.array(OPTIMIZERS), "epoch": epochs}))
