"""Dual numbers: derivatives of compiled functions against central differences of the same functions on floats."""

import math

import numpy as np
import pytest
from numba import njit
from numba.np.unsafe.ndarray import to_fixed_tuple

from attention_limits.numerics.dual_numbers import seeded

pytestmark = pytest.mark.slow


def elementary(z):
    """Every function that dual numbers know, at arguments where it is smooth."""
    x, y = z[0], z[1]
    return (
        math.exp(x) + np.exp(-y) + math.expm1(x * y) + np.expm1(x),
        math.log(2.0 + x) + np.log(2 + y) + math.log1p(x * x) + np.log1p(y * y),
        math.sqrt(3 + x) - np.sqrt(3 - y) + (1 + x * x) ** 1.5 + x**3 - y**2 + 2.0**x + (2 + x) ** y,
        math.sin(x) * np.cos(y) + np.sin(y) / math.cos(x) + math.tan(x) - np.tan(y),
        math.sinh(x) - np.cosh(y) + math.cosh(x) + np.sinh(y) + math.tanh(x * y) + np.tanh(3 * y),
        math.atan(x) + np.arctan(y) + math.erf(x - y) + abs(x) - math.fabs(y) + np.abs(x * y) + np.power(2 + x, 3),
        max(x, 0.1) + min(y, 0.1) + np.maximum(x, y) * np.minimum(0, x) + np.sign(x) * y - (-x) + (+y),
    )


def branches(z):
    """Variables that start as numbers, in-place operators, comparisons, loops."""
    total, factor = 0.0, 1
    for x in z:
        total += x * x
        factor *= 1.5 - x
        if x > 0.3 and x != 7 and x >= 0.2:
            total -= x
        elif x < -0.3 or x <= -5 or x == 9:
            total /= 2.0 + x
    return [total, factor, total * factor]


def slopes(function, count):
    """(fields, direction) -> slopes of all outputs."""
    compiled = njit(function)

    @njit
    def evaluate(z, direction):
        found = compiled(seeded(to_fixed_tuple(z, count), direction))
        return [y.slope for y in found]

    return evaluate


@pytest.mark.parametrize("function", [elementary, branches])
def test_slopes_are_derivatives(function):
    """Central differences with a step of 1e-5: truncation 1e-10, rounding 1e-11; allowance 1e-8 relative to the derivative."""
    count, step = 2, 1e-5
    evaluate = slopes(function, count)
    for z in (np.array([0.7, -0.4]), np.array([-0.6, 0.9]), np.array([0.25, 0.35])):
        for direction in range(count):
            shift = step * (np.arange(count) == direction)
            plus, minus = (np.array(function(tuple((z + s).tolist()))) for s in (shift, -shift))
            found = evaluate(z, direction)
            np.testing.assert_allclose(found, (plus - minus) / (2 * step), rtol=1e-8, atol=1e-8)
