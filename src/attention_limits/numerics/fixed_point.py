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
        Last value F(x), or what the caller makes of it.
    residual : float
        Largest |F(x) - x| of the last iteration.
    iterations : int
        Number of evaluations of F.
    converged : bool
        Whether the residual reached the tolerance or the caller's edge (False also after a non-finite value).
    """

    value: np.ndarray
    residual: float
    iterations: int
    converged: bool


def iterate(
    step: Callable[[np.ndarray], np.ndarray],
    start,
    tolerance: float,
    max_iterations: int,
    lookahead: int = 0,
    longest_jump: float = 2.0,
    arrived: Callable[[np.ndarray], bool] = lambda x: False,
) -> FixedPoint:
    """Iterate x <- F(x), every third time jumping ahead along the geometric sequence that the last values form.

    Near a continuous transition F approaches its fixed point, or leaves an unstable one, geometrically with a ratio close to
    one. Three successive values give the ratio r of each component; the jump adds the next `lookahead` terms of the sequence,
    so that it neither passes the limit it extrapolates (r < 1) nor outruns the growth it continues (r >= 1).

    Parameters
    ----------
    step : callable
        The map F on real vectors.
    start : array (n,)
    tolerance : float
        Converged when no component changes by more than this.
    max_iterations : int
        Largest number of evaluations of F.
    lookahead : int
        Number of terms per jump; 0 is plain iteration.
    longest_jump : float
        Largest change of a component by a jump.
    arrived : callable
        arrived(F(x)) ends the iteration as converged, for fixed points at the edge of the domain of F.
    """
    x = np.asarray(start, dtype=float)
    history = [x]
    for iteration in range(1, max_iterations + 1):
        new = step(x)
        residual = float(np.max(np.abs(new - x)))
        if not np.isfinite(residual) or residual <= tolerance or arrived(new):
            return FixedPoint(new, residual, iteration, bool(np.isfinite(residual)))
        history = [*history[-2:], new]
        x = new
        if lookahead and iteration % 3 == 0:
            x = new + np.clip(_continuation(history, lookahead), -longest_jump, longest_jump)
            history = [x]
    return FixedPoint(new, residual, max_iterations, False)


def _continuation(values, terms):
    """Sum of the next terms of the geometric sequence of differences of three vectors, zero where there is none."""
    before, last = values[1] - values[0], values[2] - values[1]
    ratio = np.divide(last, before, out=np.zeros_like(last), where=before != 0)
    # An alternating sequence needs no help, and a ratio far above one is the transient of the previous jump.
    ratio = np.where((ratio > 0.0) & (ratio < 1.5), np.minimum(ratio, 1.0), 0.0)
    return last * np.sum(ratio[:, None] ** np.arange(1, terms + 1), axis=1)
