"""What the fits of all attention layers share: their minimum, their ridge, and the comparison of several starts."""

import functools
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attention_limits.potts_mlm.descent.lbfgs import Descent, agreeing, confirmed, descend


class Settings(Protocol):
    """The settings that L-BFGS reads; the sections `schema.samples.Descent` and
    `schema.proteins.Fitting` have them.

    Attributes
    ----------
    max_iterations : int
        Largest number of iterations.
    tolerance : float
        Largest component of the gradient, nats per site, at which the fit has converged.
    """

    max_iterations: int
    tolerance: float


@dataclass(frozen=True)
class Fit:
    """A local minimum of the regularised training loss.

    Attributes
    ----------
    loss : float
        Training loss per site in nats, without ridges.
    descent : Descent
        Objective with the ridges, largest component of the gradient, iterations, whether it has converged.
    """

    loss: float
    descent: Descent


def minimised(objective, start, ridge, settings: Settings, curvature=None) -> Fit:
    """The minimum of `objective` (parameters, single) -> (value, gradient), which `with_ridge` gives, from `start` (n,).

    `ridge` is that of `with_ridge`, `settings` are those of L-BFGS, and `curvature` is that of `descend`.
    """
    single = functools.partial(objective, single=True)
    found = descend(objective, start, settings.max_iterations, settings.tolerance, curvature=curvature, single=single)
    return Fit(float(found.objective - 0.5 * ridge * found.parameters @ found.parameters), found)


def with_ridge(loss, gradient, parameters, ridge):
    """`loss` plus (`ridge` / 2) times the squared `parameters` (n,), and its gradient; `gradient` (n,) changes in place."""
    gradient += ridge * parameters
    return loss + 0.5 * ridge * float(parameters @ parameters), gradient


def of_starts(fits, prefix="") -> dict:
    """Variables of `fits`, one per start, and of the start with the smallest objective; `prefix` begins their names."""
    descents = [fit.descent for fit in fits]
    objectives, converged = [item.objective for item in descents], [item.converged for item in descents]
    found = {
        "objective": objectives,
        "training_loss": [fit.loss for fit in fits],
        "gradient_norm": [item.gradient_norm for item in descents],
        "iterations": [item.iterations for item in descents],
        "converged": converged,
        "chosen": int(np.argmin(objectives)),
        "agreeing_starts": agreeing(objectives, converged),
        "confirmed": confirmed(objectives, converged),
    }
    return {prefix + name: value for name, value in found.items()}
