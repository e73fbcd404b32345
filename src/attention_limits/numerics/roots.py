"""Roots between brackets, many at a time."""

from collections.abc import Callable

import numpy as np


def bisect(function: Callable[[np.ndarray], np.ndarray], low, high, steps: int = 60) -> np.ndarray:
    """Where a function of x > 0, negative at `low`, changes sign on the way to `high`; arrays of one shape.

    Halves log x: to rounding after 60 steps, for a root of any order.
    """
    low, high = np.log(low), np.log(high)
    for _ in range(steps):
        middle = 0.5 * (low + high)
        below = function(np.exp(middle)) < 0.0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.exp(0.5 * (low + high))


def false_position(function: Callable[[np.ndarray], np.ndarray], low, high, steps: int = 60) -> np.ndarray:
    """Roots of a smooth function, not positive at `low` and not negative at `high`; arrays of one shape.

    Takes at most `steps` steps of the Illinois method. It converges faster than linearly at simple roots, and never leaves the
    bracket.
    """
    at_low, at_high = function(low), function(high)
    x = high
    for _ in range(steps):
        slope = np.where(at_high > at_low, at_high - at_low, 1.0)
        new = np.clip(high - at_high * (high - low) / slope, np.minimum(low, high), np.maximum(low, high))
        if np.all(np.abs(new - x) <= 1e-14 * np.maximum(1.0, np.abs(new))):
            return new
        x, value = new, function(new)
        below = value < 0.0
        # The value at the end that stays is halved, otherwise this end might stay for ever.
        at_low, at_high = np.where(below, value, 0.5 * at_low), np.where(below, 0.5 * at_high, value)
        low, high = np.where(below, x, low), np.where(below, high, x)
    return x
