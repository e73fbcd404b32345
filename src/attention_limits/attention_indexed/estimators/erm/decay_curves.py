"""Curves of weight decay against alpha, as the estimators of the state evolution store them.

The Bayes-optimal error is that of `state_evolution.curve` (Boncoraglio, Troiani, Erba, Zdeborova 2025, arXiv:2506.01582); the
information of scores with noise is derived in this module.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attention_limits.attention_indexed.erm.estimate import PLACES, Task
from attention_limits.attention_indexed.erm.teachers.laws import teacher_of
from attention_limits.attention_indexed.erm.thresholds import interpolation, recovery
from attention_limits.attention_indexed.model.score_law import SCRAMBLINGS, row_nodes
from attention_limits.attention_indexed.priors.loading import load_prior
from attention_limits.attention_indexed.state_evolution.curve import exact_recovery
from attention_limits.attention_indexed.state_evolution.curve import solve as bayes_curve
from attention_limits.pipeline.cubes.points import collect

_SPECTRUM = ("spectrum_value", "spectrum_density")


@dataclass(frozen=True)
class NoisyScores:
    """Scores that outputs determine up to noise of variance tau = `noise`: a `Channel` of K = `per_sample` equations."""

    per_sample: int
    noise: float
    ties = None
    closed_form = True

    @property
    def equations(self) -> int | None:
        """K without noise, else None: no number of samples makes the error zero."""
        return None if self.noise else self.per_sample

    def information(self, V, Q):
        """K / (V + tau) at posterior variance V (...), for every prior variance Q."""
        return self.per_sample / (V + self.noise)

    def uncertainty(self, V, Q):
        """Zero, at every V and Q: the information is exact."""
        return 0.0


def task_at(point, project) -> Task:
    """The task of the parameters of a model and of a point of the grid by name, with files below the folder `project`."""
    beta = point["beta"] if point["channel"] == "softmax" else None
    teacher = teacher_of(load_prior(point, Path(project)))
    return Task(teacher, point["score_noise"], int(point["tokens"]), beta)


def shared(task: Task, alpha) -> dict[str, np.ndarray]:
    """Bayes-optimal error and thresholds of the `task`, variables (n,) by name, at each `alpha` (n,)."""
    channel, noisy = NoisyScores(task.equations, task.score_noise), task.score_noise > 0
    return {
        "mse_bayes": bayes_curve(channel, task.law.prior, alpha).mmse,
        "recovery_threshold": np.full_like(alpha, exact_recovery(channel, task.law.prior)),
        "exact_recovery": np.full_like(alpha, np.inf if noisy else recovery(task.law)[0] / task.equations),
        "interpolation": np.full_like(alpha, interpolation(task.law, task.score_noise).equations / task.equations),
    }


def collect_points(spec, streams, points_of):
    """The dataset of points_of(task, point, alpha (n,), replica) -> n mappings of variables of `estimate`, along alpha.

    `spec` is the specification of the estimator as a mapping, and `streams` gives the generators of random numbers; both are
    those that `run` of the estimator gets.
    """
    alpha = np.array(spec["grid"]["alpha"], dtype=float)
    others = {name: values for name, values in spec["grid"].items() if name != "alpha"}
    dims: dict[str, tuple[str, ...]] = {}

    def compute(at, replica):
        point = {**spec["model"], **at}
        task = task_at(point, spec["project"])
        rows = points_of(task, point, alpha, replica)
        nodes = row_nodes(
            task.tokens, [streams.generator("scores", part) for part in range(SCRAMBLINGS)], task.channel.law
        )
        errors = [task.channel.distance(row.pop("mixing"), nodes) for row in rows]
        plug_in, uncertainty = np.array(errors).T
        found = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        found |= {"error_plug_in": plug_in, "error_plug_in_uncertainty": uncertainty, **shared(task, alpha)}
        dims.update({name: ("alpha", "bulk", "place") if name in _SPECTRUM else ("alpha",) for name in found})
        return found

    coordinates = {"alpha": spec["grid"]["alpha"], "bulk": [1, 2], "place": np.arange(1, PLACES + 1)}
    found = collect({**spec, "grid": others}, compute, dims, coordinates)
    return found.transpose(*spec["grid"], "replica", "bulk", "place")
