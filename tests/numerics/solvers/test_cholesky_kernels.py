"""Cholesky factor and solution against numpy."""

import numpy as np

from attention_limits.numerics.solvers.cholesky_kernels import cholesky, solve_factored


def test_factor_and_solution_are_those_of_numpy():
    """The entries above the diagonal do not enter."""
    generator = np.random.default_rng(1)
    root = generator.standard_normal((4, 4))
    matrix, vector = root @ root.T, generator.standard_normal(4)
    factor, solution = np.zeros((4, 4)), np.empty(4)
    assert cholesky(np.tril(matrix), 0.5, 0.0, 0.0, factor)
    shifted = matrix + 0.5 * np.eye(4)
    np.testing.assert_allclose(factor, np.linalg.cholesky(shifted), atol=1e-12)
    solve_factored(factor, vector, solution)
    np.testing.assert_allclose(solution, np.linalg.solve(shifted, vector), rtol=1e-9)


def test_small_pivots_are_refused():
    matrix, factor = np.diag([2.0, 1e-3]), np.zeros((2, 2))
    assert cholesky(matrix, 0.0, 0.0, 0.0, factor)
    assert not cholesky(matrix, 0.0, 1e-3, 0.0, factor)
    assert not cholesky(matrix, 0.0, 0.0, 1.0, factor)
    assert not cholesky(matrix, -1.0, 0.0, 0.0, factor)
