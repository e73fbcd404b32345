"""Anderson acceleration of fixed-point iterations (Anderson 1965, J. ACM 12, 547).

Near its fixed point an iteration x <- F(x) is almost linear. Then the former iterates determine the combination of states with
the smallest residual r = F(x) - x. The next state is this combination plus a share of its r. The fixed points stay the same.
`anderson` iterates a map of few numbers. `Acceleration` makes the steps of a damped iteration of large arrays, in a loop of its
caller. `scipy.optimize.anderson` does not serve: it has no bound of a step, forgets nothing when the residual grows, and returns
its last point, not the best one, where it does not converge.
"""

from collections.abc import Callable

import numpy as np

from attention_limits.numerics.solvers.fixed_point import FixedPoint

# Number of former steps that are combined; largest residual of message passing, in units of the error, for a combination; growth
# of the residual in one step after which the former steps are forgotten.
_DEPTH, _NEAR, _GROWTH = 5, 0.3, 3.0
# Share of the mean square of the steps that keeps the combination finite.
_RIDGE = 1e-10


def anderson(
    step: Callable[[np.ndarray], np.ndarray],
    start,
    tolerance: float,
    max_iterations: int,
    depth: int = 4,
    mixing: float = 0.5,
    longest: float = 0.5,
) -> FixedPoint:
    """Fixed point of F. The next iterate: the combination of the last ones with the smallest F(x) - x, plus `mixing` times this.

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
        # When the residual has grown threefold, forget the former iterates: they describe another region.
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


class Acceleration:
    """Steps of message passing, or another iteration of several arrays, joined to one vector x.

    x are estimates, Onsager terms and logarithms of predicted errors, F(x) their values after a plain step. A damped step adds
    (1 - damping) r.

    Parameters
    ----------
    shapes : sequence of shape
        Of the arrays of the state.
    weights : sequence of float
        Weight of the squares of each array in the size of r; 0 for none.
    """

    def __init__(self, shapes, weights):
        self._shapes, self._sizes = shapes, [int(np.prod(shape)) for shape in shapes]
        # Arrays with weight enter in units in which their squares add up.
        self._scales = [np.sqrt(weight) if weight else 1.0 for weight in weights]
        self._counted = sum(size for size, weight in zip(self._sizes, weights, strict=True) if weight)
        # Changes of x and of r, in single precision: rounding acts on the combination, not on the fixed point.
        self._x, self._r = np.empty((2, _DEPTH, sum(self._sizes)), dtype=np.float32)
        self._last, self._done, self._first = None, 0, None

    def step(self, state, new, damping: float, residual: float) -> list[np.ndarray]:
        """The next state after arrays `state` with F = `new`. Arrays without weight come last.

        Former steps are combined where the `residual` is small and does not grow. A step without damping is plain, and so are all
        steps after the damping has changed: there was no progress.
        """
        self._first = damping if self._first is None else self._first
        x, r = self._joined(state), self._joined(new)
        r -= x
        near = 0.0 < damping == self._first and residual < _NEAR
        if not near or (self._last is not None and residual > _GROWTH * self._last[2]):
            self._last, self._done = None, 0
        share = 1.0 - damping
        change = share * r
        if self._last is not None:
            place = self._done % _DEPTH
            np.subtract(x, self._last[0], out=self._x[place])
            np.subtract(r, self._last[1], out=self._r[place])
            self._done += 1
            known = min(self._done, _DEPTH)
            past = self._r[:known, : self._counted]
            products = (past @ past.T).astype(float)
            products.flat[:: known + 1] += _RIDGE * np.trace(products)
            factors = np.linalg.solve(products, past @ r[: self._counted].astype(np.float32)).astype(np.float32)
            change -= factors @ self._x[:known]
            change -= share * (factors @ self._r[:known])
        if near:
            self._last = x, r, residual
        change += x
        return self._separate(change)

    def _joined(self, arrays):
        return np.concatenate([np.ravel(array) * scale for array, scale in zip(arrays, self._scales, strict=True)])

    def _separate(self, x):
        parts = np.split(x, np.cumsum(self._sizes)[:-1])
        return [
            (part / scale).reshape(shape) for part, scale, shape in zip(parts, self._scales, self._shapes, strict=True)
        ]
