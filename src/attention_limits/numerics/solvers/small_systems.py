"""Linear systems of many small matrices; LAPACK, which `numpy.linalg` calls for each of them, takes three times as long."""

import numpy as np

from attention_limits.numerics.compiled import njit


@njit(error_model="numpy")
def _solve(matrices, right, log_determinant):
    """Replace `right` (N, M, k) by the solutions of `matrices` (N, M, M), which become scratch; Gauss with row pivots."""
    count, M, columns = right.shape
    for n in range(count):
        a, x = matrices[n], right[n]
        determinant = 1.0
        for j in range(M):
            pivot = j
            for i in range(j + 1, M):
                if abs(a[i, j]) > abs(a[pivot, j]):
                    pivot = i
            # NaN is singular too.
            if not abs(a[pivot, j]) > 0.0:
                determinant = 0.0
                break
            if pivot != j:
                for k in range(j, M):
                    a[j, k], a[pivot, k] = a[pivot, k], a[j, k]
                for k in range(columns):
                    x[j, k], x[pivot, k] = x[pivot, k], x[j, k]
            inverse = 1.0 / a[j, j]
            determinant *= a[j, j]
            for i in range(j + 1, M):
                factor = a[i, j] * inverse
                for k in range(j + 1, M):
                    a[i, k] -= factor * a[j, k]
                for k in range(columns):
                    x[i, k] -= factor * x[j, k]
            for k in range(columns):
                x[j, k] *= inverse
            for k in range(j + 1, M):
                a[j, k] *= inverse
        log_determinant[n] = np.log(abs(determinant))
        if determinant == 0.0:
            x[:] = 0.0
            continue
        for j in range(M - 1, -1, -1):
            for i in range(j):
                for k in range(columns):
                    x[i, k] -= a[i, j] * x[j, k]


def solve(matrices, right):
    """Solutions x of A x = b for many small A; arrays that record functions of NumPy (`tracing.traced`) keep their kind.

    Parameters
    ----------
    matrices : array (..., M, M)
        A.
    right : array (..., M, k)
        b; its leading axes fit those of A by broadcasting.

    Returns
    -------
    x : array (..., M, k)
        0 where A is singular.
    log_determinant : array (...)
        log |det A|, -inf where A is singular.
    """
    M, columns = np.shape(right)[-2:]
    leading = np.broadcast_shapes(np.shape(matrices)[:-2], np.shape(right)[:-2])
    if any(hasattr(array, "__array_function__") and not isinstance(array, np.ndarray) for array in (matrices, right)):
        return np.linalg.solve(matrices, right), np.linalg.slogdet(np.broadcast_to(matrices, (*leading, M, M)))[1]
    a = np.array(np.broadcast_to(matrices, (*leading, M, M)), dtype=float, order="C")
    x = np.array(np.broadcast_to(right, (*leading, M, columns)), dtype=float, order="C")
    log_determinant = np.empty(leading)
    _solve(a.reshape(-1, M, M), x.reshape(-1, M, columns), log_determinant.reshape(-1))
    return x, log_determinant
