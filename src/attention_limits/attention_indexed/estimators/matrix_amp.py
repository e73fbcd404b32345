"""Matrix AMP on independent data sets; one replica is one teacher with its data."""

import numpy as np

from attention_limits.attention_indexed.channel import make_channel
from attention_limits.attention_indexed.fresh_data import fresh_errors
from attention_limits.attention_indexed.matrix_amp import draw_dataset
from attention_limits.attention_indexed.matrix_amp import run as iterate
from attention_limits.attention_indexed.model import sizes
from attention_limits.pipeline.points import collect

_DIMS = {
    "mmse_by_iteration": ("iteration",),
    "predicted_by_iteration": ("iteration",),
    "residual_by_iteration": ("iteration",),
    "eigenvalues": ("eigenvalue",),
    "eigenvalues_teacher": ("eigenvalue",),
}


def run(spec, streams):
    """Errors of the estimate, actual and predicted, also on fresh data, and its spectrum (see `variables`)."""
    solver = spec["solver"]
    dimension, steps = solver["dimension"], solver["max_iterations"]

    def along(values):
        return np.concatenate([values, np.full(steps - len(values), np.nan)])

    def compute(at, replica):
        point = {**spec["model"], **at}
        channel = make_channel(point["channel"], point["tokens"], point["beta"])
        size = sizes(point["alpha"], point["ratio"], dimension)
        data = draw_dataset(channel, size, streams.generator("data", replica, **at))
        found = iterate(channel, data, steps, solver["damping"], solver["tolerance"])
        plug_in, bayes = fresh_errors(
            channel, data.teacher, found.estimate, found.variance[-1], solver["fresh_sequences"],
            streams.generator("fresh", replica, **at),
        )  # fmt: skip
        return {
            "mmse": found.error[-1],
            "mmse_predicted": found.variance[-1],
            "residual": found.residual[-1],
            "iterations": len(found.error),
            "converged": found.converged,
            "diverged": found.diverged,
            **size.realised(),
            "mmse_by_iteration": along(found.error),
            "predicted_by_iteration": along(found.variance),
            "residual_by_iteration": along(found.residual),
            "error_plug_in": plug_in,
            "error_bayes": bayes,
            "eigenvalues": np.linalg.eigvalsh(found.estimate),
            "eigenvalues_teacher": np.linalg.eigvalsh(data.teacher),
        }

    coordinates = {"iteration": np.arange(1, steps + 1), "eigenvalue": np.arange(1, dimension + 1)}
    return collect(spec, compute, _DIMS, coordinates)
