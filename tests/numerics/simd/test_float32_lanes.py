"""Sixteen numbers at once, against numpy in single precision."""

import numpy as np
import pytest
from numba import njit

from attention_limits.numerics.simd import float32_lanes
from attention_limits.numerics.simd.aligned_arrays import CACHE_LINE, aligned

pytestmark = pytest.mark.slow


@njit
def combined(x, y, out):
    first, second = float32_lanes.load(x, 0), float32_lanes.load(y, 1)
    float32_lanes.store(out, 0, first + second)
    float32_lanes.store(out, 1, first - second)
    float32_lanes.store(out, 2, first * second)
    float32_lanes.store(out, 3, float32_lanes.maximum(first, second))
    float32_lanes.store(out, 4, float32_lanes.nonnegative(first))
    float32_lanes.store(out, 5, float32_lanes.full(y[1, 3]))


@njit
def exponentials(x, out):
    for row in range(len(x)):
        float32_lanes.store(out, row, float32_lanes.exp(float32_lanes.load(x, row)))


@njit
def moved(table, starts, column, step, out, sums):
    for line in range(len(starts)):
        float32_lanes.take(table, starts, line, column, out, line, step)
    for line in range(len(starts)):
        float32_lanes.add(out, line, step, sums, starts, line, column)


@njit
def filled(count):
    return float32_lanes.zeros(count)


@njit
def of_flat_arrays(x, place, count, out):
    float32_lanes.prefetch(x, place)
    left, right = float32_lanes.load_at(x, place), float32_lanes.load_from(x, place, count)
    float32_lanes.store(out, 0, left)
    float32_lanes.store(out, 1, right)
    float32_lanes.store(out, 2, float32_lanes.multiply_add(left, right, left))
    return float32_lanes.total(right)


@pytest.mark.parametrize("count", [0, 1, 7, 16])
def test_loads_from_any_place_against_numpy(count):
    generator = np.random.default_rng(3)
    x, out = generator.standard_normal(40).astype(np.float32), np.zeros((3, float32_lanes.WIDTH), np.float32)
    found = of_flat_arrays(x, 5, count, out)
    some = np.where(np.arange(float32_lanes.WIDTH) < count, x[5:21], 0)
    np.testing.assert_array_equal(out[:2], [x[5:21], some])
    np.testing.assert_allclose(out[2], x[5:21] * some + x[5:21], rtol=1e-6, atol=1e-7)
    assert found == pytest.approx(some.sum(), abs=1e-5)


def test_multiply_add_keeps_infinities_and_nan():
    x, out = np.full(16, np.nan, np.float32), np.zeros((3, float32_lanes.WIDTH), np.float32)
    x[0] = np.inf
    assert np.isnan(of_flat_arrays(x, 0, 16, out))
    np.testing.assert_array_equal(out[2], x)


@pytest.mark.parametrize("step", [1, 3])
def test_take_and_add_against_loops(step):
    """Starts repeat, so that several lanes meet one entry. A later line overwrites rows of an earlier one, as in the loops."""
    generator = np.random.default_rng(2)
    table = generator.standard_normal(60).astype(np.float32)
    starts = generator.integers(0, 12, (3, float32_lanes.WIDTH)) * 4
    rows = 3 + 3 * step
    out, sums = np.zeros((rows, float32_lanes.WIDTH), dtype=np.float32), generator.standard_normal(60)
    expected, expected_sums = np.zeros_like(out), sums.copy()
    moved(table, starts, 5, step, out, sums)
    for line in range(3):
        for q in range(float32_lanes.GROUP):
            expected[line + q * step] = table[starts[line] + 5 + q]
    for line in range(3):
        for k in range(float32_lanes.WIDTH):
            for q in range(float32_lanes.GROUP):
                expected_sums[starts[line, k] + 5 + q] += expected[line + q * step, k]
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(sums, expected_sums)


def test_rows_begin_on_a_cache_line():
    arrays = [*(filled(count) for count in (1, 2, 7, 1000)), aligned((3, 5), np.float32), aligned((999,), float)]
    assert {array.ctypes.data % CACHE_LINE for array in arrays} == {0}
    assert not any(array.any() for array in arrays)
    assert [array.shape for array in arrays[3:]] == [(1000, float32_lanes.WIDTH), (3, 5), (999,)]


def test_operations_are_elementwise():
    """Rows other than those loaded hold other numbers; single operations round as numpy does."""
    x, y = np.random.default_rng(1).standard_normal((2, 2, float32_lanes.WIDTH)).astype(np.float32)
    x[0, 2] = 0.0
    out = np.empty((6, float32_lanes.WIDTH), dtype=np.float32)
    combined(x, y, out)
    first, second = x[0], y[1]
    expected = [first + second, first - second, first * second, np.maximum(first, second), first >= 0]
    np.testing.assert_array_equal(out, [*expected, np.full(float32_lanes.WIDTH, y[1, 3])])


def test_exponential_to_single_precision():
    """From 0 down to -87, with the half-odd multiples of log 2, where the reduced argument jumps; below it is constant."""
    joints = -(np.arange(125) + 0.5) * np.log(2)
    x = np.concatenate([np.linspace(-87, 0, 4000), joints, [-0.0, -1e-30]]).astype(np.float32)
    x = np.resize(x, (-(-len(x) // float32_lanes.WIDTH), float32_lanes.WIDTH))
    out = np.empty_like(x)
    exponentials(x, out)
    np.testing.assert_allclose(out, np.exp(x.astype(float)), rtol=3e-7)
    far = np.full((1, float32_lanes.WIDTH), -1e30, dtype=np.float32)
    exponentials(far, far)
    np.testing.assert_allclose(far, np.exp(-87.0), rtol=1e-6)
