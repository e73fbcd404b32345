"""Dual numbers: derivatives of compiled functions against central differences of the same functions on floats."""

import math

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError
from numba.np.unsafe.ndarray import to_fixed_tuple

from attention_limits.numerics.simd.dual_numbers import seeded, slopes_of, value_of
from attention_limits.numerics.simd.float64_lanes import loaded, store

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


def evaluation(function, count):
    """(z (count,)) -> values and slopes (2,) of all outputs of a function of two fields."""
    compiled = njit(function)

    @njit
    def evaluate(z):
        return [(value_of(y), slopes_of(y)) for y in compiled(seeded(to_fixed_tuple(z, count), 0, count))]

    return evaluate


@pytest.mark.parametrize("function", [elementary, branches])
def test_slopes_are_derivatives(function):
    """Central differences with a step of 1e-5: truncation 1e-10, rounding 1e-11; allowance 1e-8 relative to the derivative."""
    count, step = 2, 1e-5
    evaluate = evaluation(function, count)
    for z in (np.array([0.7, -0.4]), np.array([-0.6, 0.9]), np.array([0.25, 0.35])):
        values, slopes = (np.array(part) for part in zip(*evaluate(z), strict=True))
        np.testing.assert_allclose(values, function(tuple(z.tolist())), rtol=1e-13)
        for direction in range(count):
            shift = step * (np.arange(count) == direction)
            plus, minus = (np.array(function(tuple((z + s).tolist()))) for s in (shift, -shift))
            np.testing.assert_allclose(slopes[:, direction], (plus - minus) / (2 * step), rtol=1e-8, atol=1e-8)


def test_eight_at_once_are_single_ones():
    """Values and slopes of lanes against those of floats; the exponential of lanes has a relative error below 1e-14."""
    one, compiled, z = evaluation(elementary, 2), njit(elementary), np.random.default_rng(0).uniform(-0.9, 0.9, (2, 8))

    @njit
    def eight(z, found):
        row = 0
        for y in compiled(seeded(loaded(z, 2), 0, 2)):
            store(found, row, y.value)
            for slope in slopes_of(y):
                row += 1
                store(found, row, slope)
            row += 1

    found = np.empty((21, 8))
    eight(z, found)
    for lane in range(8):
        expected = [[value, *slopes] for value, slopes in one(np.ascontiguousarray(z[:, lane]))]
        np.testing.assert_allclose(found[:, lane].reshape(7, 3), expected, rtol=1e-12, atol=1e-13)


def test_eight_at_once_take_no_branches():
    """A comparison of eight numbers has no single answer: numba refuses it, and no lane takes another one's branch."""
    compiled = njit(branches)

    @njit
    def eight(z):
        return compiled(seeded(loaded(z, 2), 0, 2))[0].value

    with pytest.raises(TypingError):
        eight(np.zeros((2, 8)))
