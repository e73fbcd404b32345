"""Small linear systems against LAPACK."""

import numpy as np
import pytest

from attention_limits.numerics.solvers.small_systems import solve


@pytest.mark.parametrize("size", [1, 2, 3, 6])
@pytest.mark.parametrize("columns", [1, 3])
def test_solutions_and_determinants_are_those_of_lapack(size, columns):
    rng = np.random.default_rng(size)
    matrices = rng.standard_normal((5, 4, size, size)) * 10.0 ** rng.uniform(-3, 3, (5, 4, size, 1))
    # A pivot of zero in the first row.
    matrices[0, :, 0, 0] *= size == 1
    matrices[0, :, 0, 0] += size == 1
    right = rng.standard_normal((5, 1, size, columns))
    x, log_determinant = solve(matrices, right)
    scale = np.linalg.cond(matrices)[..., None, None]
    expected = np.linalg.solve(matrices, np.broadcast_to(right, (5, 4, size, columns)))
    assert np.all(np.abs(x - expected) <= 1e-14 * scale * np.abs(expected).max(axis=-2, keepdims=True))
    np.testing.assert_allclose(log_determinant, np.linalg.slogdet(matrices)[1], rtol=0, atol=1e-11)


def test_a_singular_matrix_has_the_solution_zero_and_leaves_the_others_as_they_are():
    matrices = np.random.default_rng(0).standard_normal((3, 3, 3))
    right, before = np.ones((3, 1)), matrices.copy()
    matrices[1, :, 2] = matrices[1, :, 1] = 0.0
    x, log_determinant = solve(matrices, right)
    assert np.isneginf(log_determinant[1])
    assert not x[1].any()
    np.testing.assert_array_equal(x[[0, 2]], solve(before, right)[0][[0, 2]])
    # The arguments stay as they are.
    np.testing.assert_array_equal(matrices[[0, 2]], before[[0, 2]])
    np.testing.assert_array_equal(right, 1.0)
