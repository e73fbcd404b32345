"""Fixed points of order-parameter maps."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FixedPoint:
    """Outcome of a fixed-point iteration; not converging is a result, not an exception.

    Attributes
    ----------
    value : array
        Last value F(x).
    residual : float
        Largest |F(x) - x| of the last iteration.
    iterations : int
        Number of evaluations of F.
    converged : bool
        Whether the caller's stopping rule was met (False also after a non-finite value).
    """

    value: np.ndarray
    residual: float
    iterations: int
    converged: bool


def iterate(
    step: Callable[[np.ndarray], np.ndarray],
    start,
    stop: Callable[[np.ndarray, np.ndarray], bool],
    max_iterations: int,
    project: Callable[[np.ndarray], np.ndarray] = lambda x: x,
    lookahead: int = 0,
) -> FixedPoint:
    """Iterate x <- F(x), every fourth time jumping ahead along the geometric sequence that the last values form.

    Near a continuous transition F approaches its fixed point, or leaves an unstable one, geometrically with a ratio close to
    one. Three successive values give the ratio r of each component; the jump adds the next `lookahead` terms of the sequence,
    so that it neither passes the limit it extrapolates (r < 1) nor outruns the growth it continues (r >= 1).

    Parameters
    ----------
    step : callable
        The map F on arrays of the shape of `start`.
    stop : callable
        stop(x, F(x)) says whether the iteration has converged.
    max_iterations : int
        Largest number of evaluations of F.
    project : callable
        Applied after a jump, to bring x back into the domain of F.
    lookahead : int
        Number of terms per jump; 0 is plain iteration.
    """
    x = np.asarray(start, dtype=float)
    history = [x]
    for iteration in range(1, max_iterations + 1):
        new = step(x)
        residual = float(np.max(np.abs(new - x)))
        if not np.isfinite(residual):
            return FixedPoint(new, residual, iteration, False)
        if stop(x, new):
            return FixedPoint(new, residual, iteration, True)
        history = [*history[-3:], new]
        x = new
        if lookahead and iteration % 4 == 0:
            x = project(new + _continuation(history[-3:], lookahead))
            history = [x]
    return FixedPoint(new, residual, max_iterations, False)


def _continuation(values, terms):
    """Sum of the next terms of the geometric sequence of differences of three values, zero where there is none."""
    before, last = values[1] - values[0], values[2] - values[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = last / before
    # A ratio far above one is the transient of a jump, and an alternating sequence needs no help.
    ratio = np.where(np.isfinite(ratio) & (ratio > 0.0) & (ratio < 1.5), np.minimum(ratio, 1.1), 0.0)
    return last * np.sum(ratio[..., None] ** np.arange(1, terms + 1), axis=-1)
