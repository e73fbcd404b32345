"""Fits by L-BFGS (Liu and Nocedal 1989), and the number of starts that agree on a minimum.

Softmax attention has plateaus, where the gradient is small far from any minimum. Therefore the default tolerance of the gradient
is 1e-5, and a minimum counts as found only where two starts end at the same objective.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

# Standard deviation of the initial weights: logits begin at about one tenth of their final size.
START = 0.1
# Two starts have found the same minimum when their objectives differ by less, in nats per site.
AGREEMENT = 1e-4
# Pairs of steps and gradient changes that L-BFGS keeps. With 20 pairs it needs up to a third more iterations.
MEMORY = 60


@dataclass(frozen=True)
class Descent:
    """The end point of a descent.

    Attributes
    ----------
    parameters : array (n,)
    objective : float
        At `parameters`.
    gradient_norm : float
        Largest component of the gradient there.
    iterations : int
    converged : bool
        Whether `gradient_norm` is at most the tolerance.
    """

    parameters: np.ndarray
    objective: float
    gradient_norm: float
    iterations: int
    converged: bool


def descend(function: Callable, start, max_iterations: int, tolerance: float, memory: int = MEMORY) -> Descent:
    """Minimise `function(parameters) -> (value, gradient)` from `start` (n,) by at most `max_iterations` iterations of L-BFGS.

    Ends earlier when no component of the gradient exceeds `tolerance`. L-BFGS keeps `memory` pairs of steps and gradient changes.
    """
    outcome = minimize(
        function, start, jac=True, method="L-BFGS-B",
        options={
            "maxiter": max_iterations, "maxfun": 2 * max_iterations, "gtol": tolerance, "ftol": 0.0, "maxcor": memory,
        },
    )  # fmt: skip
    # After a failed line search scipy returns the gradient of the last trial point, which is not the best one.
    value, gradient = function(outcome.x)
    norm = float(np.abs(gradient).max())
    return Descent(outcome.x, float(value), norm, int(outcome.nit), norm <= tolerance)


def agreeing(objectives, converged) -> int:
    """Number of `converged` starts (starts,) that end within AGREEMENT of the smallest of all `objectives` (starts,)."""
    objectives = np.asarray(objectives)
    return int(np.sum(np.asarray(converged) & (objectives <= objectives.min() + AGREEMENT)))
