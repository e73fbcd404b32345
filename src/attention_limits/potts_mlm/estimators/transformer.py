"""Transformer encoders trained on shared sequences by stochastic gradient descent and by Adam."""

import numpy as np

from attention_limits.potts_mlm.estimators.points import collect, training_set
from attention_limits.potts_mlm.transformer import OPTIMIZERS, Shape, train

_DIMS = {
    **dict.fromkeys(("transformer_gradient_norm", "transformer_converged"), ("optimizer",)),
    "transformer_training_loss": ("optimizer", "epoch"),
    "transformer_test_loss": ("optimizer", "epoch"),
    "transformer_map": ("optimizer", "site", "site_other"),
}


def run(spec, streams):
    """Losses by epoch and the attention at the end, averaged over layers (see `variables`).

    Both optimisers, all sample sizes and distances of a replica begin with the same weights.
    """
    solver = spec["solver"]
    epochs = []

    def compute(replica, *, samples, layers, **point):
        data = spec["data"](replica, **point)
        sequences = training_set(streams, data, replica, point, int(samples))
        shape = Shape(sequences.shape[1], data.sizes["color"], int(layers), solver["width"], solver["hidden"])
        done = [
            train(
                shape, sequences, data.test_states.values[: solver["test_sequences"]],
                streams.generator("training", replica), optimizer=optimizer, learning_rate=solver[f"{optimizer}_learning_rate"],
                **{key: solver[key] for key in ("batch", "epochs", "evaluations")},
            )
            for optimizer in OPTIMIZERS
        ]  # fmt: skip
        epochs[:] = done[0].epochs
        return {
            "transformer_training_loss": [item.training_loss for item in done],
            "transformer_test_loss": [item.test_loss for item in done],
            "transformer_gradient_norm": [item.gradient_norm for item in done],
            "transformer_converged": [item.gradient_norm <= solver["tolerance"] for item in done],
            "transformer_map": [item.attention.mean(axis=0) for item in done],
        }

    dataset = collect(spec, compute, _DIMS, {"optimizer": np.array(OPTIMIZERS)})
    return dataset.assign_coords(epoch=epochs)
