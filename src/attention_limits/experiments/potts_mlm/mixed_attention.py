"""Attention layers between factored (a = 0) and position-free (a = 1), fitted to shared sequences."""

import numpy as np

from attention_limits.experiments.potts_mlm.points import collect, training_set
from attention_limits.potts_mlm.mixed_attention import fit, losses

_PER_START = ("mixed_training_loss", "mixed_test_loss", "mixed_gradient_norm", "mixed_converged")
_DIMS = {**dict.fromkeys(_PER_START, ("attention", "start")), "mixed_chosen": ("attention",)}


def run(spec, streams):
    """Losses of every start and which has the smallest training loss (see `variables`)."""
    solver = spec["solver"]

    def compute(replica, *, mixing, **point):
        data = spec["data"](replica, **point)
        sequences = training_set(streams, data, replica, point, solver["samples"])
        test, rng = data.test_states.values, streams.generator("start", replica)
        found = {name: np.empty((len(solver["attentions"]), solver["starts"])) for name in _PER_START}
        for i, kind in enumerate(solver["attentions"]):
            for j, child in enumerate(rng.spawn(solver["starts"])):
                fitted = fit(
                    sequences, data.sizes["color"], child, mixing=mixing, softmax=kind == "softmax", ridge=solver["ridge"],
                    max_iterations=solver["max_iterations"], tolerance=solver["tolerance"],
                )  # fmt: skip
                values = (
                    fitted.loss,
                    losses(fitted.parameters, test, mixing, kind == "softmax").mean(),
                    fitted.gradient_norm,
                    fitted.converged,
                )
                for name, value in zip(_PER_START, values, strict=True):
                    found[name][i, j] = value
        return {
            **found,
            "mixed_converged": found["mixed_converged"].astype(bool),
            "mixed_chosen": found["mixed_training_loss"].argmin(axis=1),
        }

    return collect(spec, compute, _DIMS, {"attention": np.array(solver["attentions"])})
