"""Sixteen numbers at once, against numpy in single precision."""

import numpy as np
import pytest
from numba import njit

from attention_limits.numerics import lanes

pytestmark = pytest.mark.slow


@njit
def combined(x, y, out):
    first, second = lanes.load(x, 0), lanes.load(y, 1)
    lanes.store(out, 0, first + second)
    lanes.store(out, 1, first - second)
    lanes.store(out, 2, first * second)
    lanes.store(out, 3, lanes.maximum(first, second))
    lanes.store(out, 4, lanes.nonnegative(first))
    lanes.store(out, 5, lanes.full(y[1, 3]))


@njit
def exponentials(x, out):
    for row in range(len(x)):
        lanes.store(out, row, lanes.exp(lanes.load(x, row)))


def test_operations_are_elementwise():
    """Rows other than those loaded hold other numbers; single operations round as numpy does."""
    x, y = np.random.default_rng(1).standard_normal((2, 2, lanes.WIDTH)).astype(np.float32)
    x[0, 2] = 0.0
    out = np.empty((6, lanes.WIDTH), dtype=np.float32)
    combined(x, y, out)
    first, second = x[0], y[1]
    expected = [first + second, first - second, first * second, np.maximum(first, second), first >= 0]
    np.testing.assert_array_equal(out, [*expected, np.full(lanes.WIDTH, y[1, 3])])


def test_exponential_to_single_precision():
    """From 0 down to -87, with the half-odd multiples of log 2, where the reduced argument jumps; below it is constant."""
    joints = -(np.arange(125) + 0.5) * np.log(2)
    x = np.concatenate([np.linspace(-87, 0, 4000), joints, [-0.0, -1e-30]]).astype(np.float32)
    x = np.resize(x, (-(-len(x) // lanes.WIDTH), lanes.WIDTH))
    out = np.empty_like(x)
    exponentials(x, out)
    np.testing.assert_allclose(out, np.exp(x.astype(float)), rtol=3e-7)
    far = np.full((1, lanes.WIDTH), -1e30, dtype=np.float32)
    exponentials(far, far)
    np.testing.assert_allclose(far, np.exp(-87.0), rtol=1e-6)
