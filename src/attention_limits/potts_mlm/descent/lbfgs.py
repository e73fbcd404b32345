"""Fits by L-BFGS (Liu and Nocedal 1989), and the number of starts that agree on a minimum.

Softmax attention has plateaus, where the gradient is small far from any minimum. Therefore the default tolerance of the gradient
is 1e-5, and a minimum counts as found only where two starts end at the same objective.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attention_limits.potts_mlm.descent import lbfgs_kernels

# Standard deviation of the initial weights: logits begin at about one tenth of their final size.
START = 0.1
# Two starts have found the same minimum when their objectives differ by less, in nats per site.
AGREEMENT = 1e-4
# Pairs of steps and gradient changes that L-BFGS keeps. With 20 pairs it needs up to a third more iterations.
MEMORY = 60
# A descent with a known curvature computes it after FIRST iterations, and again after every EVERY further ones.
FIRST, EVERY = 30, 100
# A step of length t ends where the objective has fallen by at least DECREASE t |first slope|, and the slope is at least STEEPNESS
# times the first, negative one (weak Wolfe conditions).
DECREASE, STEEPNESS = 1e-4, 0.9
# Rounding of an objective, in units of its size, in double and in single precision.
DOUBLE, SINGLE = 1e-13, 1e-7
# Largest number of evaluations in one step.
TRIALS = 20
# A descent is at the limit of its rounding after so many iterations without a lower objective or a smaller gradient. After ten
# such iterations most ill-conditioned fits still come within the tolerance in single precision.
IDLE = 60


@dataclass(frozen=True)
class Descent:
    """The end point of a descent.

    Attributes
    ----------
    parameters : array (n,)
    objective : float
        At `parameters`.
    gradient_norm : float
        Largest component of the gradient at the end.
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
    single: Callable | None = None,
) -> Descent:  # fmt: skip
    """Minimise `function(parameters) -> (value, gradient)` from `start` (n,) by at most `max_iterations` iterations of L-BFGS.

    Parameters
    ----------
    function : callable
    start : array (n,)
    max_iterations : int
    tolerance : float
        The descent ends when no component of the gradient exceeds it.
    memory : int
        Pairs of steps and gradient changes that are kept.
    curvature : callable, optional
        `curvature(parameters)`, a positive estimate (n,) of the diagonal of the Hessian, used from iteration FIRST on.
    single : callable, optional
        `function` in single precision. The descent uses it until its rounding hides all progress, then it uses `function`; value
        and gradient at the end are those of `function`.
    """
    path = _Path(np.array(start, dtype=float), max_iterations, tolerance, memory, curvature)
    if single is not None:
        path.follow(single, SINGLE)
    path.follow(function, DOUBLE)
    return Descent(path.parameters, float(path.value), path.norm, path.iterations, path.norm <= tolerance)


class _Path:
    """The state of a descent: place, its objective and gradient, iterations, and pairs of steps and gradient changes."""

    def __init__(self, parameters, max_iterations, tolerance, memory, curvature):
        self.parameters, self.iterations = parameters, 0
        self._limit, self._tolerance, self._curvature = max_iterations, tolerance, curvature
        self._steps, self._changes = np.empty((2, memory, len(parameters)))
        self._products, self._metric = np.empty(memory), np.ones(len(parameters))
        self._pairs = self._oldest = 0

    def _arrive(self, value, gradient):
        """Keep the objective and the gradient of this place; `norm` is the largest component of the gradient."""
        self.value, self.gradient, self.norm = value, gradient, float(np.abs(gradient).max())

    def follow(self, function, rounding):
        """Iterate until the gradient of `function` is within the tolerance, or rounding hides all progress."""
        self._arrive(*function(self.parameters))
        lowest, idle = self.norm, 0
        while self.norm > self._tolerance and self.iterations < self._limit and idle < IDLE:
            before = self.value
            if not self._step(function, rounding):
                if not self._pairs:
                    break
                # The pairs may be misleading: begin again along the gradient.
                self._pairs = 0
                continue
            self.iterations += 1
            progress = self.norm < lowest or before - self.value > rounding * abs(before)
            lowest, idle = min(lowest, self.norm), 0 if progress else idle + 1
            if self._curvature is not None and self.iterations % EVERY == FIRST:
                self._metric = 1.0 / self._curvature(self.parameters)

    def _step(self, function, rounding):
        """One iteration; True if it found a lower point."""
        way = np.empty_like(self.parameters)
        lbfgs_kernels.direction(
            self.gradient, self._steps, self._changes, self._products, self._oldest, self._pairs, self._metric, way
        )
        slope = float(way @ self.gradient)
        if not slope < 0.0:
            return False
        first = 1.0 if self._pairs else min(1.0, 1.0 / np.linalg.norm(way))
        found = line_search(function, self.parameters, way, self.value, slope, first, rounding)
        if found is None:
            return False
        length, value, gradient = found
        memory = len(self._steps)
        row = (self._oldest + self._pairs) % memory
        np.multiply(way, length, out=self._steps[row])
        np.subtract(gradient, self.gradient, out=self._changes[row])
        product = float(self._steps[row] @ self._changes[row])
        if product > 0.0:
            self._products[row] = product
            if self._pairs < memory:
                self._pairs += 1
            else:
                self._oldest = (self._oldest + 1) % memory
        self.parameters = self.parameters + self._steps[row]
        self._arrive(value, gradient)
        return True


def line_search(function, start, way, value, slope, first, rounding):
    """A step along `way` (n,) from `start` (n,) that meets the weak Wolfe conditions: (length, value, gradient), or None.

    `function` gives value and gradient at a point. `value` and `slope` < 0 are those at the start, `first` is the first length.
    Near a minimum, where the objective changes by less than its `rounding`, the slopes alone decide (Hager and Zhang 2005, SIAM
    J. Optim. 16, 170).
    """
    low, low_value, low_slope = 0.0, value, slope
    high = None
    length = first
    for _ in range(TRIALS):
        found, gradient = function(start + length * way)
        steep = float(way @ gradient)
        falls = found <= value + DECREASE * length * slope
        flat = found <= value + rounding * abs(value) and steep <= (2.0 * DECREASE - 1.0) * slope
        if not (falls or flat):
            high, high_value, high_slope = length, found, steep
        elif steep < STEEPNESS * slope:
            low, low_value, low_slope = length, found, steep
        else:
            return length, found, gradient
        if high is None:
            length *= 4.0
        else:
            length = _between(low, low_value, low_slope, high, high_value, high_slope)
    return None


def _between(low, low_value, low_slope, high, high_value, high_slope):
    """The minimum of the cubic through two points and their slopes, at least a tenth of their distance from both."""
    width = high - low
    middle = low_slope + high_slope - 3.0 * (high_value - low_value) / width
    square = middle**2 - low_slope * high_slope
    part = 0.5
    if np.isfinite(square) and square >= 0.0:
        root = np.sqrt(square)
        denominator = high_slope - low_slope + 2.0 * root
        if denominator != 0.0:
            part = 1.0 - (high_slope + root - middle) / denominator
    return low + width * min(max(part, 0.1), 0.9)


def agreeing(objectives, converged) -> int:
    """Number of `converged` starts (starts,) that end within AGREEMENT of the smallest of all `objectives` (starts,)."""
    objectives = np.asarray(objectives)
    return int(np.sum(np.asarray(converged) & (objectives <= objectives.min() + AGREEMENT)))


def confirmed(objectives, converged) -> bool:
    """Whether two or more starts have found the minimum: `agreeing` is two or more; `objectives`, `converged` are (starts,)."""
    return agreeing(objectives, converged) >= 2


def stacked(fits) -> dict[str, np.ndarray]:
    """{variable: array} of all `fits`, each {variable: value} with the same variables, along a new first axis."""
    return {name: np.array([fit[name] for fit in fits]) for name in fits[0]}
