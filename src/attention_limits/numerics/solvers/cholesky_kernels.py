"""Cholesky factor of a small symmetric matrix, and the solution of its linear system."""

import math

from attention_limits.numerics.compiled import njit


@njit(error_model="numpy")
def cholesky(matrix, shift, absolute, relative, factor):
    """Lower factor of `matrix` + `shift` I, both (n, n), into factor; False where the sum is not positive.

    Entries below the diagonal are enough. A pivot must exceed `absolute` + `relative` times its diagonal entry of the matrix.
    """
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            rest = matrix[i, j]
            if i == j:
                rest += shift
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if i == j:
                if not rest > absolute + relative * matrix[i, i]:
                    return False
                factor[i, i] = math.sqrt(rest)
            else:
                factor[i, j] = rest / factor[j, j]
    return True


@njit(error_model="numpy")
def solve_factored(factor, vector, solution):
    """Write the solution (n,) of A x = `vector`, A = L L^T with the lower `factor` L (n, n)."""
    n = vector.size
    for i in range(n):
        rest = vector[i]
        for k in range(i):
            rest -= factor[i, k] * solution[k]
        solution[i] = rest / factor[i, i]
    for i in range(n - 1, -1, -1):
        rest = solution[i]
        for k in range(i + 1, n):
            rest -= factor[k, i] * solution[k]
        solution[i] = rest / factor[i, i]
