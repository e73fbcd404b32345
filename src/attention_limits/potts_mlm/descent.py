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
# Numbers of iterations after which a descent with a known curvature changes the scales of its parameters.
RESCALED = (30, 130, 330)


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


def descend(
    function: Callable, start, max_iterations: int, tolerance: float, memory: int = MEMORY, curvature: Callable | None = None,
) -> Descent:  # fmt: skip
    """Minimise `function(parameters) -> (value, gradient)` from `start` (n,) by at most `max_iterations` iterations of L-BFGS.

    Ends earlier when no component of the gradient exceeds `tolerance`. L-BFGS keeps `memory` pairs of steps and gradient changes.
    With `curvature(parameters)`, a positive estimate (n,) of the diagonal of the Hessian, L-BFGS begins again after RESCALED
    iterations, in parameters times the square root of the curvature there.
    """
    parameters, scale, done, norm = np.asarray(start), np.ones(len(start)), 0, np.inf

    def scaled(point, scale):
        nonlocal norm
        value, gradient = function(scale * point)
        norm = float(np.abs(gradient).max())
        return value, scale * gradient

    def stop(intermediate_result):
        # The line search ends at the point that it evaluated last.
        if norm <= tolerance:
            raise StopIteration

    ends = RESCALED if curvature else ()
    for end in (*(end for end in ends if end < max_iterations), max_iterations):
        if done:
            scale = curvature(parameters) ** -0.5
        outcome = minimize(
            scaled, parameters / scale, args=(scale,), jac=True, method="L-BFGS-B", callback=stop,
            options={
                "maxiter": end - done, "maxfun": 2 * (end - done), "gtol": 0.0, "ftol": 0.0, "maxcor": memory,
            },
        )  # fmt: skip
        parameters, done = scale * outcome.x, done + int(outcome.nit)
        # After a failed line search scipy returns the gradient of the last trial point, which is not the best one.
        value, gradient = function(parameters)
        norm = float(np.abs(gradient).max())
        if norm <= tolerance:
            break
    return Descent(parameters, float(value), norm, done, norm <= tolerance)


def agreeing(objectives, converged) -> int:
    """Number of `converged` starts (starts,) that end within AGREEMENT of the smallest of all `objectives` (starts,)."""
    objectives = np.asarray(objectives)
    return int(np.sum(np.asarray(converged) & (objectives <= objectives.min() + AGREEMENT)))
