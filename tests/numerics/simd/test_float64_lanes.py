"""Eight numbers at once in double precision, against numpy."""

import numpy as np
import pytest
from numba import njit

from attention_limits.numerics.simd import float64_lanes as lanes

pytestmark = pytest.mark.slow


@njit
def combined(x, y, number, out):
    first, second = lanes.load(x, 0), lanes.load(y, 1)
    lanes.store(out, 0, first + second)
    lanes.store(out, 1, first - number)
    lanes.store(out, 2, number * second)
    lanes.store(out, 3, 2 / second)
    lanes.store(out, 4, lanes.maximum(first, 0.0))
    lanes.store(out, 5, lanes.with_sign(first, second))
    lanes.store(out, 6, lanes.sqrt(lanes.maximum(first, -1.0 * first)))
    lanes.store(out, 7, lanes.full(number))


@njit
def masked(x, y, out):
    first, second = lanes.load(x, 0), lanes.load(y, 0)
    less, at_most = lanes.less(first, second), lanes.at_most(first, second)
    for row, mask in enumerate((less, at_most, less * at_most, 1.0 - less)):
        lanes.store(out, row, lanes.where(mask, first, -1.0))
    lanes.store(out, 4, lanes.where(less, 2.0, second))
    return lanes.bits(less), lanes.bits(at_most)


@njit
def functions(x, out):
    out[0], out[1], out[2] = lanes.exp(x), lanes.sqrt(x), lanes.maximum(x, 2.0)


@njit
def exponentials(x, out):
    for row in range(len(x)):
        lanes.store(out, row, lanes.exp(lanes.load(x, row)))


def test_operations_are_elementwise():
    """Rows other than those loaded hold other numbers; all operations round as numpy does."""
    x, y = np.random.default_rng(1).standard_normal((2, 2, lanes.WIDTH))
    out = np.empty((8, lanes.WIDTH))
    combined(x, y, 0.7, out)
    first, second = x[0], y[1]
    assert np.any(first < 0)
    assert np.any(second < 0)
    np.testing.assert_array_equal(
        out,
        [
            first + second, first - 0.7, 0.7 * second, 2 / second, np.maximum(first, 0.0), np.copysign(first, second),
            np.sqrt(np.abs(first)), np.full(lanes.WIDTH, 0.7),
        ],
    )  # fmt: skip


def test_masks_choose_lane_by_lane():
    """No comparison with NaN holds."""
    x = np.array([[1.0, 2.0, np.nan, -np.inf, 0.0, 3.0, np.inf, -1.0]])
    y = np.array([[2.0, 2.0, 0.0, 5.0, np.nan, -3.0, np.inf, -0.5]])
    out = np.empty((5, lanes.WIDTH))
    found = masked(x, y, out)
    less, at_most = (x < y)[0], (x <= y)[0]
    rows = [np.where(mask, x[0], -1.0) for mask in (less, at_most, less & at_most, ~less)]
    np.testing.assert_array_equal(out, [*rows, np.where(less, 2.0, y[0])])
    assert found == tuple(int(np.sum(2 ** np.flatnonzero(mask))) for mask in (less, at_most))


def test_functions_take_numbers_too():
    out = np.empty(3)
    functions(1.5, out)
    np.testing.assert_allclose(out, [np.exp(1.5), np.sqrt(1.5), 2.0], rtol=1e-15)


def test_exponential_to_double_precision():
    """From -700 to 700, with the half-odd multiples of log 2, where the reduced argument jumps; beyond them it is constant."""
    joints = (np.arange(-1000, 1000) + 0.5) * np.log(2)
    x = np.concatenate([np.linspace(-700, 700, 8000), joints, [0.0, -0.0, 1e-300]])
    x = np.resize(x, (-(-len(x) // lanes.WIDTH), lanes.WIDTH))
    out = np.empty_like(x)
    exponentials(x, out)
    np.testing.assert_allclose(out, np.exp(x), rtol=1e-14)
    far = np.full((2, lanes.WIDTH), 1e30) * [[1.0], [-1.0]]
    exponentials(far, out[:2])
    np.testing.assert_allclose(out[:2], np.exp([[700.0], [-700.0]]) * np.ones(lanes.WIDTH), rtol=1e-14)
