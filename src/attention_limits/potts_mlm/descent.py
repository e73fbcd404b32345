"""Training of the models of this family by L-BFGS (Liu and Nocedal 1989), and when starts agree on a minimum.

Softmax attention has plateaus: there the gradient is small far from any minimum. The tolerance of the gradient is therefore
1e-5 by default, and a minimum counts as found only where two starts end at one objective.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

# Standard deviation of the first weights: logits of order one tenth of their final size.
START = 0.1
# Starts whose objectives differ by less, in nats per site, have found the same minimum.
AGREEMENT = 1e-4
# Pairs of steps and gradient changes that L-BFGS keeps; 20 of them need up to a third more iterations.
MEMORY = 60


@dataclass(frozen=True)
class Descent:
    """Where a descent has ended.

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


def descend(function: Callable, start, max_iterations: int, tolerance: float) -> Descent:
    """Minimise `function(parameters) -> (value, gradient)` from `start` (n,) by at most `max_iterations` iterations of L-BFGS.

    Ends earlier when no component of the gradient exceeds `tolerance`.
    """
    outcome = minimize(
        function, start, jac=True, method="L-BFGS-B",
        options={
            "maxiter": max_iterations, "maxfun": 2 * max_iterations, "gtol": tolerance, "ftol": 0.0, "maxcor": MEMORY,
        },
    )  # fmt: skip
    # The returned gradient is that of the last trial point, which is not the best one after a failed search.
    value, gradient = function(outcome.x)
    norm = float(np.abs(gradient).max())
    return Descent(outcome.x, float(value), norm, int(outcome.nit), norm <= tolerance)


def agreeing(objectives, converged) -> int:
    """How many `converged` starts (starts,) end within AGREEMENT of the smallest of all `objectives` (starts,)."""
    objectives = np.asarray(objectives)
    return int(np.sum(np.asarray(converged) & (objectives <= objectives.min() + AGREEMENT)))
