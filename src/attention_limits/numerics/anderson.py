"""Anderson acceleration of fixed-point iterations (Anderson 1965, J. ACM 12, 547)."""

from collections.abc import Callable

import numpy as np

from attention_limits.numerics.fixed_point import FixedPoint


def anderson(
    step: Callable[[np.ndarray], np.ndarray],
    start,
    tolerance: float,
    max_iterations: int,
    depth: int = 4,
    mixing: float = 0.5,
    longest: float = 0.5,
) -> FixedPoint:
    """Fixed point of F from the last iterates: their combination with the smallest residual F(x) - x, and `mixing` of that.

    Parameters
    ----------
    step : callable
        The map F on real vectors, of components of order one.
    start : array (n,)
    tolerance : float
        Converged when no component of F(x) - x is larger.
    max_iterations : int
        Largest number of evaluations of F.
    depth : int
        Number of former iterates that are combined.
    mixing : float
        Weight of the new residual, in (0, 1].
    longest : float
        Largest change of a component in one iteration.

    Returns
    -------
    FixedPoint
        value is the x at which F was last evaluated, or the one of the smallest residual where the iteration did not converge.
    """
    x = np.asarray(start, dtype=float)
    points: list[np.ndarray] = []
    residuals: list[np.ndarray] = []
    best, smallest = x, np.inf
    for iteration in range(1, max_iterations + 1):
        residual = step(x) - x
        size = float(np.max(np.abs(residual)))
        if not np.isfinite(size):
            return FixedPoint(best, size, iteration, False)
        if size < smallest:
            best, smallest = x, size
        if size <= tolerance:
            return FixedPoint(x, size, iteration, True)
        # A residual that has grown threefold ends the memory: the past describes another region.
        if residuals and size > 3.0 * np.max(np.abs(residuals[-1])):
            points, residuals = [], []
        points, residuals = [*points[-depth:], x], [*residuals[-depth:], residual]
        move = mixing * residual
        if len(points) > 1:
            changes = np.diff(np.array(residuals), axis=0).T
            weights = np.linalg.lstsq(changes, residual, rcond=1e-10)[0]
            move = move - (np.diff(np.array(points), axis=0).T + mixing * changes) @ weights
        largest = np.max(np.abs(move))
        x = x + move * min(1.0, longest / largest)
    return FixedPoint(best, smallest, max_iterations, False)
