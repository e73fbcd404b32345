"""Roots between brackets, many at a time."""

from collections.abc import Callable

import numpy as np
from scipy.optimize.elementwise import find_root


def root_between(function: Callable[..., np.ndarray], low, high, *args) -> np.ndarray:
    """Where `function(x, *args)` changes sign between `low` and `high`, to rounding; arrays that broadcast.

    By the method of Chandrupatla. `function` works element by element: finished elements are left out of later calls. Where the
    sign at both ends is the same, which rounding may cause next to a root, the result is the end with the smaller value.
    """
    found = find_root(function, (low, high), args=args)
    (low, high), (at_low, at_high) = found.bracket, np.abs(found.f_bracket)
    return np.where(found.success, found.x, np.where(at_low <= at_high, low, high))


def bisect(function: Callable[[np.ndarray], np.ndarray], low, high, steps: int = 60) -> np.ndarray:
    """Where a function of x > 0, negative at `low`, changes sign on the way to `high`; arrays of one shape.

    Halves log x: to rounding after 60 steps, for a root of any order. Use it for functions of a few operations: `root_between`
    takes fewer but longer steps, and is several times slower there.
    """
    low, high = np.log(low), np.log(high)
    for _ in range(steps):
        middle = 0.5 * (low + high)
        below = function(np.exp(middle)) < 0.0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.exp(0.5 * (low + high))
