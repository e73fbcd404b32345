"""Copies of small arrays by loops.

numba compiles `a[:] = b` of two arrays in one second or more, because this statement also compares shapes and formats a message.
"""

from attention_limits.numerics.compiled import njit


@njit
def copy_vector(source, target):
    """Write `source` (n,) into `target` (n,)."""
    for i in range(target.shape[0]):
        target[i] = source[i]


@njit
def copy_matrix(source, target):
    """Write `source` (n, m) into `target` (n, m)."""
    for i in range(target.shape[0]):
        for j in range(target.shape[1]):
            target[i, j] = source[i, j]
