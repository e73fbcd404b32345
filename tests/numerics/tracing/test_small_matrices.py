"""Elimination without branches against LAPACK."""

import numpy as np
import pytest

from attention_limits.numerics.tracing.small_matrices import solve_with_functions


@pytest.mark.parametrize("size", [1, 2, 3, 6])
@pytest.mark.parametrize("columns", [0, 1, 3])
def test_solutions_and_determinants_are_those_of_lapack(size, columns):
    rng = np.random.default_rng(size)
    matrices = rng.standard_normal((5, 4, size, size)) * 10.0 ** rng.uniform(-3, 3, (5, 4, size, 1))
    # A pivot of zero in the first row.
    matrices[0, :, 0, 0] = float(size == 1)
    right = rng.standard_normal((5, 4, size, columns))
    x, determinant = solve_with_functions(matrices, right)
    scale, expected = np.linalg.cond(matrices)[..., None, None], np.linalg.solve(matrices, right)
    assert np.all(np.abs(x - expected) <= 1e-13 * scale * np.abs(expected).max(axis=-2, keepdims=True))
    sign, log_determinant = np.linalg.slogdet(matrices)
    np.testing.assert_array_equal(np.sign(determinant), sign)
    np.testing.assert_allclose(np.log(np.abs(determinant)), log_determinant, rtol=0, atol=1e-11)


def test_a_singular_matrix_has_the_solution_zero():
    matrices = np.random.default_rng(0).standard_normal((3, 3, 3))
    matrices[1, :, 2] = matrices[1, :, 1] = 0.0
    x, determinant = solve_with_functions(matrices, np.ones((3, 3, 1)))
    assert determinant[1] == 0.0
    assert not x[1].any()
    np.testing.assert_allclose(x[[0, 2]], np.linalg.solve(matrices[[0, 2]], np.ones((2, 3, 1))), rtol=1e-12)
