"""Where the growth along a branch of the state evolution crosses one (see `staircase`)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from attention_limits.sequence_multi_index.weak_recovery.branch import BranchPoint

# Steps of the level along a branch: the first one, and the factor of each next one.
FIRST_STEP, LONGER = 0.3, 1.6
# Sampling noise can make a growth near zero negative.
SMALLEST_GROWTH = 1e-3
# Largest number of secant steps, and largest distance from the first guess in units of the level.
MOST_STEPS, FARTHEST = 5, 1.0


@dataclass(frozen=True)
class Crossing:
    """A level at which the growth is one.

    Attributes
    ----------
    point : BranchPoint
        The point of the branch at the crossing.
    level : float
    alpha : float
        The threshold: the largest alpha met on the way. It is that of the point unless the overlap jumps.
    slope : float
        Slope of log growth against the level.
    """

    point: BranchPoint
    level: float
    alpha: float
    slope: float

    @property
    def jumps(self) -> bool:
        """Whether alpha is not monotone along the branch."""
        return self.alpha > self.point.alpha


def _log_growth(point):
    return float(np.log(max(point.growth, SMALLEST_GROWTH)))


def search(
    at: Callable[[float, np.ndarray], BranchPoint], start, begin, highest, tolerance,
    ends: Callable[[BranchPoint], bool] = lambda point: False,
) -> Crossing | None:  # fmt: skip
    """The first crossing above the level `begin`: steps until the growth exceeds one, then Brent's method.

    Parameters
    ----------
    at : callable
        at(level, precision) is the point of the branch at a level, from the shape of a precision (k, k).
    start : array (k, k)
        Precision to start from.
    begin, highest : float
        Levels. At `begin` the growth is that of the branch before, below one.
    tolerance : float
        Accuracy of the level.
    ends : callable
        ends(point) is true where the branch ends without a crossing.

    Returns
    -------
    Crossing or None
        None if there is no crossing up to the level `highest`, or the branch ends.
    """
    largest, precision, below, length = 0.0, start, begin, FIRST_STEP
    known = {}
    while True:
        if below >= highest:
            return None
        level = min(below + length, highest)
        point = known[level] = at(level, precision)
        if not np.isfinite(point.growth) or ends(point):
            return None
        if point.growth > 1.0:
            break
        largest, precision, below = max(largest, point.alpha), point.precision, level
        length *= LONGER

    def value(level):
        if level not in known:
            known[level] = at(level, precision)
        return _log_growth(known[level])

    below = max(below, begin + 1e-3)
    root = brentq(value, below, level, xtol=tolerance) if value(below) < 0 else below
    value(root)
    # The two points nearest to the crossing on its sides, or the two lowest ones.
    lower, upper = _neighbours(sorted(known), root)
    slope = (value(upper) - value(lower)) / (upper - lower)
    return Crossing(known[root], root, max(largest, known[root].alpha), slope)


def _neighbours(levels, root):
    """Two different levels of a sorted list of two or more, around a `root` in this list."""
    place = levels.index(root)
    first = min(max(place - 1, 0), len(levels) - 2)
    return levels[first], levels[first + 1]


def polish(at: Callable, guess: Crossing, begin, highest, tolerance) -> Crossing | None:
    """A crossing near a guess, by the secant method.

    `at`, `begin`, `highest` and `tolerance` are as in `search`. The last correction of the level is below the tolerance. None
    where the slope is not positive, or the steps leave the neighbourhood of the guess, or are too many.
    """
    level, slope, before, point = guess.level, guess.slope, None, guess.point
    for _ in range(MOST_STEPS):
        if not slope > 0 or not begin < level < highest or abs(level - guess.level) > FARTHEST:
            return None
        point = at(level, point.precision)
        if not np.isfinite(point.growth):
            return None
        value = _log_growth(point)
        if before is not None and level != before[0]:
            slope = (value - before[1]) / (level - before[0])
        if slope > 0 and abs(value) <= tolerance * slope:
            return Crossing(point, level, point.alpha, slope)
        before = level, value
        level -= value / slope if slope > 0 else np.nan
    return None
