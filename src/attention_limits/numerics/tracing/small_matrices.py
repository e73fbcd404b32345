"""Linear systems of small matrices with functions of NumPy alone and without branches, so that they can be recorded."""

import numpy as np


def solve_with_functions(matrices, right):
    """Solutions of small systems with functions of NumPy alone: Gauss and Jordan with row pivots, without branches.

    Parameters
    ----------
    matrices : array (..., M, M)
        A.
    right : array (..., M, k)
        b, with the same leading axes.

    Returns
    -------
    x : array (..., M, k)
        0 where A is singular.
    determinant : array (...)
    """
    M = right.shape[-2]
    rows = [np.concatenate([matrices[..., i, :], right[..., i, :]], axis=-1) for i in range(M)]
    determinant = 1.0
    for j in range(M):
        for i in range(j + 1, M):
            larger = np.abs(rows[i][..., j : j + 1]) > np.abs(rows[j][..., j : j + 1])
            rows[i], rows[j] = np.where(larger, rows[j], rows[i]), np.where(larger, rows[i], rows[j])
            determinant = np.where(larger, -1.0, 1.0) * determinant
        pivot = rows[j][..., j : j + 1]
        determinant = determinant * pivot
        rows[j] = rows[j] / np.where(pivot == 0.0, 1.0, pivot)
        rows = [row if i == j else row - row[..., j : j + 1] * rows[j] for i, row in enumerate(rows)]
    x = np.stack([row[..., M:] for row in rows], axis=-2)
    return np.where(determinant[..., None] == 0.0, 0.0, x), determinant[..., 0]
