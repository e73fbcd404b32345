"""One fit of weight decay at a point of a grid, as the estimators store it."""

import numpy as np

from attention_limits.attention_indexed.erm.simulations.objective import draw_data, fresh_losses, loss_and_gradient
from attention_limits.attention_indexed.estimators.erm.decay_curves import task_at
from attention_limits.attention_indexed.model.sizes import sizes
from attention_limits.pipeline.cubes.points import collect

# Eigenvalues above this times the largest one count in the rank.
RANK = 1e-6
_DIMS = {"eigenvalues": ("eigenvalue",), "eigenvalues_teacher": ("eigenvalue",)}


def collect_fits(spec, streams, fit):
    """The dataset of fit(data, lambda) -> (S, variables) on the data sets of all points; `spec` and `streams` as `run` gets them.

    All decays see the same data. They are also those of `matrix_amp` in the same experiment, at the same values of the grid.
    """
    solver = spec["solver"]
    dimension = solver.dimension

    def compute(at, replica):
        point = {**spec["model"], **at}
        task, size = task_at(point), sizes(point["alpha"], point["ratio"], dimension)
        named = {key: value for key, value in at.items() if key != "weight_decay"}
        data = draw_data(size, task.tokens, task.beta, task.score_noise, streams.generator("data", replica, **named))
        S, variables = fit(data, point["weight_decay"])
        clean, noisy = fresh_losses(
            data, S, task.score_noise, solver.fresh_sequences, streams.generator("fresh", replica, **named)
        )
        loss, trace = loss_and_gradient(data, S)[0], np.trace(S) / dimension
        eigenvalues = np.linalg.eigvalsh(S)
        return {
            **variables,
            "mse": np.sum((S - data.teacher) ** 2) / dimension,
            "learned_rank": np.mean(eigenvalues > RANK * max(eigenvalues[-1], 1e-300)),
            "learned_trace": trace,
            "learned_norm": np.sum(S**2) / dimension,
            "learned_overlap": np.sum(S * data.teacher) / dimension,
            "teacher_norm": np.sum(data.teacher**2) / dimension,
            "training_loss": loss / size.count,
            "objective": loss / dimension**2 + point["weight_decay"] * trace,
            "test_loss": noisy,
            "error_plug_in": clean,
            "eigenvalues": eigenvalues,
            "eigenvalues_teacher": np.linalg.eigvalsh(data.teacher),
            **size.realised(),
        }

    return collect(spec, compute, _DIMS, {"eigenvalue": np.arange(1, dimension + 1)})
