import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import eval_hermitenorm, gammaln

from attention_limits.numerics.probability.hermite import (
    gauss_hermite,
    hermite_values,
    multi_indices,
    raising,
    tensor_coefficients,
)


@given(st.integers(0, 30), st.floats(-6, 6))
def test_values_are_the_normalised_polynomials(degree, x):
    expected = eval_hermitenorm(degree, x) * np.exp(-0.5 * gammaln(degree + 1))
    assert hermite_values(x, degree)[degree] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_polynomials_are_orthonormal_to_degree_100_on_256_nodes():
    nodes, weights = gauss_hermite(256)
    table = hermite_values(nodes, 100)
    np.testing.assert_allclose((table * weights) @ table.T, np.eye(101), atol=1e-10)


def test_tensor_coefficients_recover_a_polynomial():
    nodes, _ = gauss_hermite(12)
    x, y = hermite_values(nodes, 5), hermite_values(nodes, 5)
    values = 2.0 * x[3][:, None] * y[1] - 0.5 * x[0][:, None] * y[4]
    found = tensor_coefficients(np.stack([values, 3 * values], axis=-1), 2, 5)
    expected = np.zeros((6, 6))
    expected[3, 1], expected[0, 4] = 2.0, -0.5
    np.testing.assert_allclose(found[..., 0], expected, atol=1e-12)
    np.testing.assert_allclose(found[..., 1], 3 * expected, atol=1e-12)


@given(st.integers(1, 4), st.integers(0, 5))
def test_multi_indices_are_all_of_them_once_sorted_by_degree(dimension, degree):
    indices = multi_indices(dimension, degree)
    everything = [i for i in np.ndindex(*[degree + 1] * dimension) if sum(i) <= degree]
    assert sorted(map(tuple, indices.tolist())) == sorted(everything)
    assert np.all(np.diff(indices.sum(axis=1)) >= 0)
    above = multi_indices(dimension, degree + 1)
    up = raising(above, degree)
    np.testing.assert_array_equal(above[up], indices[:, None] + np.eye(dimension, dtype=int))
