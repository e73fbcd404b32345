"""One fit of weight decay at a point of a grid, as the estimators store it."""

from pathlib import Path

import numpy as np

from attention_limits.attention_indexed.erm.simulations.objective import draw_data, fresh_losses, loss_and_gradient
from attention_limits.attention_indexed.estimators.erm.decay_curves import task_at
from attention_limits.attention_indexed.model.sizes import sides, sizes
from attention_limits.attention_indexed.priors.loading import load_prior
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
        size = sizes(point["alpha"], point["ratio"], dimension)
        task, prior = task_at(point, spec["project"]), load_prior(point, Path(spec["project"])).realised(size)
        named = {key: value for key, value in at.items() if key != "weight_decay"}
        data = draw_data(
            size, task.tokens, task.beta, task.score_noise, streams.generator("data", replica, **named), prior
        )
        S, variables = fit(data, point["weight_decay"])
        clean, noisy = fresh_losses(
            data, S, task.score_noise, solver.fresh_sequences, streams.generator("fresh", replica, **named)
        )
        loss, trace, side = loss_and_gradient(data, S)[0], data.norm(S), data.side
        # Per d: of a matrix that is not square there are fewer singular values.
        eigenvalues = prior.spectrum(S)
        return {
            **variables,
            "mse": np.sum((S - data.teacher) ** 2) / side,
            "learned_rank": np.sum(eigenvalues > RANK * max(eigenvalues[-1], 1e-300)) / side,
            "learned_trace": trace,
            "learned_norm": np.sum(S**2) / side,
            "learned_overlap": np.sum(S * data.teacher) / side,
            "teacher_norm": np.sum(data.teacher**2) / side,
            "training_loss": loss / size.count,
            "objective": loss / side**2 + point["weight_decay"] * trace,
            "test_loss": noisy,
            "error_plug_in": clean,
            "eigenvalues": eigenvalues,
            "eigenvalues_teacher": prior.spectrum(data.teacher),
            **size.realised(side),
        }

    values = min(sides(dimension, spec["model"]["aspect"]))
    return collect(spec, compute, _DIMS, {"eigenvalue": np.arange(1, values + 1)})
