"""The kernels in single precision against those in double precision, and products of lanes against numpy."""

import numpy as np
import pytest

from attention_limits.numerics.simd.float32_lanes import WIDTH
from attention_limits.numerics.simd.products import product
from attention_limits.potts_mlm.attention import factored, mixed, pair
from attention_limits.potts_mlm.attention.pair_parameters import Ridge, Shape

# Sums of some hundred terms of order one, each with a rounding error of 6e-8.
ROUNDING = {"rtol": 3e-6, "atol": 3e-6}


@pytest.mark.parametrize(("rows", "columns", "terms"), [(2, 4, 3), (5, 7, 1), (1, 3, 6), (6, 9, 4), (8, 8, 5)])
def test_product_of_lanes_is_a_matrix_product(rows, columns, terms):
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((rows, terms, WIDTH)), rng.standard_normal((terms, columns, WIDTH))
    expected = np.einsum("rtk,tck->rck", x, y).reshape(-1, WIDTH)
    left, right = (np.ascontiguousarray(array, dtype=np.float32).reshape(-1, WIDTH) for array in (x, y))
    out = np.full((2 + rows * columns, WIDTH), np.float32(5.0))
    product(left, terms, 1, right, columns, 1, terms, out, 2, rows, columns, False)
    np.testing.assert_array_equal(out[:2], 5.0)
    np.testing.assert_allclose(out[2:], expected, **ROUNDING)
    product(left, terms, 1, right, columns, 1, terms, out, 2, rows, columns, True)
    np.testing.assert_allclose(out[2:], 2.0 * expected, **ROUNDING)
    # Both factors transposed in memory.
    left, right = (np.ascontiguousarray(array.swapaxes(0, 1), dtype=np.float32).reshape(-1, WIDTH) for array in (x, y))
    product(left, 1, rows, right, 1, terms, terms, out, 2, rows, columns, False)
    np.testing.assert_allclose(out[2:], expected, **ROUNDING)
    # The same numbers in all lanes.
    numbers = np.ascontiguousarray(y[:, :, 0], dtype=np.float32)
    product(left, 1, rows, numbers.ravel(), columns, 1, terms, out, 2, rows, columns, False)
    np.testing.assert_allclose(out[2:], np.einsum("rtk,tc->rck", x, numbers).reshape(-1, WIDTH), **ROUNDING)
    # The sum over the lanes, added to numbers; also with the same numbers on the left.
    flat = np.full(3 + rows * columns, np.float32(5.0))
    product(left, 1, rows, right, 1, terms, terms, flat, 3, rows, columns, False)
    np.testing.assert_array_equal(flat[:3], 5.0)
    np.testing.assert_allclose(flat[3:], 5.0 + expected.sum(axis=1), rtol=1e-5, atol=1e-5)
    ones = np.ones(1, dtype=np.float32)
    flat[:] = np.float32(0.0)
    product(ones, 0, 0, right, 1, terms, terms, flat, 3, 1, columns, True)
    np.testing.assert_allclose(flat[3 : 3 + columns], y.sum(axis=(0, 2)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("count", [1, 16, 35])
@pytest.mark.parametrize("attention", ["raw", "softmax"])
@pytest.mark.parametrize(("sites", "colors"), [(2, 2), (7, 5), (20, 20)])
@pytest.mark.slow
def test_factored_attention(count, attention, sites, colors):
    rng = np.random.default_rng(2)
    sequences = rng.integers(0, colors, (count, sites)).astype(np.int8)
    flat = rng.standard_normal(sites**2 + colors**2)
    if attention == "raw":
        flat[: sites**2 : sites + 1] = 0.0
    double, single = (
        factored.objective(flat, sequences, colors, attention, 0.1, single=single) for single in (False, True)
    )
    np.testing.assert_allclose(single[0], double[0], **ROUNDING)
    np.testing.assert_allclose(single[1], double[1], **ROUNDING)


@pytest.mark.parametrize("mixing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize(("sites", "colors", "count"), [(3, 6, 5), (7, 5, 35)])
@pytest.mark.slow
def test_mixed_attention(mixing, softmax, sites, colors, count):
    rng = np.random.default_rng(3)
    sequences = rng.integers(0, colors, (count, sites)).astype(np.int8)
    width = max(sites, colors)
    flat = rng.standard_normal((width + 1) * width + colors**2)
    double, single = (
        mixed.objective(flat, sequences, colors, mixing, softmax, 0.1, single=single) for single in (False, True)
    )
    np.testing.assert_allclose(single[0], double[0], **ROUNDING)
    np.testing.assert_allclose(single[1], double[1], **ROUNDING)


@pytest.mark.parametrize(
    "shape",
    [
        Shape(6, 5, 0, full=True),
        Shape(6, 5, 0),
        Shape(6, 5, 3),
        Shape(6, 5, 2, 2, "softmax"),
        Shape(4, 35, 0, full=True),
    ],
)
def test_attention_with_heads(shape):
    rng = np.random.default_rng(4)
    sequences = rng.integers(0, shape.colors, (30, shape.sites)).astype(np.int8)
    weights = rng.uniform(0.2, 1.0, 30)
    flat = rng.standard_normal(shape.size)
    if shape.full:
        shape.split(flat)[1][range(shape.sites), range(shape.sites)] = 0.0
    ridge = Ridge(0.1, 0.2, 0.3)
    double, single = (pair.objective(flat, shape, sequences, weights, ridge, single=single) for single in (False, True))
    np.testing.assert_allclose(single[0], double[0], **ROUNDING)
    np.testing.assert_allclose(single[1], double[1], **ROUNDING)
