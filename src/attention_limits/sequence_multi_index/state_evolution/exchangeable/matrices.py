"""Symmetric matrices of K exchangeable rows and one last row, in the two parts that every permutation of the K rows keeps.

Derived for this project; the rows are the layers of Troiani et al. 2025 (arXiv:2502.00901).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Exchangeable:
    """A symmetric matrix X of K + 1 rows, X_ll = d, X_lk = o, X_lL = m, X_LL = q for l, k < L, l != k.

    It acts on the K - 1 differences of the exchangeable rows as the number d - o, and on (sqrt(K) times their mean, last row) as
    [[d + (K - 1) o, sqrt(K) m], [sqrt(K) m, q]]. Products, inverses and roots act on both separately.

    Attributes
    ----------
    count : int
        K >= 2.
    difference : float or array (...)
        d - o.
    common : array (..., 2, 2)
        The 2 x 2 matrix.
    """

    count: int
    difference: float | np.ndarray
    common: np.ndarray

    @classmethod
    def of(cls, matrix) -> "Exchangeable":
        """The mean of a matrix (K + 1, K + 1) over the permutations of its first K rows."""
        matrix = 0.5 * (matrix + np.transpose(matrix))
        count = len(matrix) - 1
        diagonal = np.trace(matrix[:count, :count]) / count
        off = (matrix[:count, :count].sum() - count * diagonal) / (count * (count - 1))
        return cls.from_entries(count, diagonal, off, matrix[:count, count].mean(), matrix[count, count])

    @classmethod
    def from_entries(cls, count, diagonal, off_diagonal, cross, last) -> "Exchangeable":
        """The matrix of the numbers d = `diagonal`, o = `off_diagonal`, m = `cross` and q = `last`."""
        corner = np.sqrt(count) * cross
        common = np.array([[diagonal + (count - 1) * off_diagonal, corner], [corner, last]])
        return cls(count, diagonal - off_diagonal, common)

    @property
    def entries(self):
        """(d, o, m, q)."""
        off = (self.common[0, 0] - self.difference) / self.count
        return self.difference + off, off, self.common[0, 1] / np.sqrt(self.count), self.common[1, 1]

    @property
    def matrix(self):
        """X (K + 1, K + 1)."""
        diagonal, off, cross, last = self.entries
        full = np.full((self.count + 1, self.count + 1), off)
        np.fill_diagonal(full, diagonal)
        full[-1], full[:, -1] = cross, cross
        full[-1, -1] = last
        return full

    def mapped(self, function: Callable) -> "Exchangeable":
        """A function of matrices (k, k), such as an inverse or a root, of both parts."""
        return Exchangeable(self.count, float(function(np.array([[self.difference]]))[0, 0]), function(self.common))

    def __add__(self, other: "Exchangeable") -> "Exchangeable":
        return Exchangeable(self.count, self.difference + other.difference, self.common + other.common)

    def __mul__(self, number) -> "Exchangeable":
        return Exchangeable(self.count, number * self.difference, number * self.common)

    def __sub__(self, other: "Exchangeable") -> "Exchangeable":
        return self + other * -1.0

    def between(self, other: "Exchangeable") -> "Exchangeable":
        """X Y X for a Y = `other`, whose parts may be arrays."""
        return Exchangeable(self.count, self.difference**2 * other.difference, self.common @ other.common @ self.common)

    def __matmul__(self, fields):
        """X times fields (..., K + 1, M)."""
        mean = fields[..., : self.count, :].mean(axis=-2, keepdims=True)
        pair = np.concatenate([np.sqrt(self.count) * mean, fields[..., self.count :, :]], axis=-2)
        pair = self.common @ pair
        rows = self.difference * (fields[..., : self.count, :] - mean) + pair[..., :1, :] / np.sqrt(self.count)
        return np.concatenate([rows, pair[..., 1:, :]], axis=-2)

    @property
    def numbers(self):
        """The four numbers of the two parts, array (..., 4): the difference, then the upper triangle of the 2 x 2 matrix."""
        common = self.common
        return np.stack([self.difference, common[..., 0, 0], common[..., 0, 1], common[..., 1, 1]], axis=-1)

    @classmethod
    def from_numbers(cls, count, numbers) -> "Exchangeable":
        """The inverse of `numbers`."""
        difference, top, corner, last = np.moveaxis(numbers, -1, 0)
        return cls(count, difference, np.stack([np.stack([top, corner], -1), np.stack([corner, last], -1)], -2))


def outer(first, second) -> Exchangeable:
    """Symmetric part of sum_a x_a y_a^T, its mean over the permutations of the first K rows.

    `first` x and `second` y are fields (..., K + 1, M).
    """
    count = first.shape[-2] - 1
    pairs = []
    for fields in (first, second):
        top = fields[..., :count, :].sum(axis=-2, keepdims=True) / np.sqrt(count)
        pairs.append(np.concatenate([top, fields[..., count:, :]], axis=-2))
    common = np.einsum("...pa,...qa->...pq", *pairs)
    total = np.einsum("...pa,...pa->...", first[..., :count, :], second[..., :count, :])
    symmetric = 0.5 * (common + np.swapaxes(common, -1, -2))
    return Exchangeable(count, (total - common[..., 0, 0]) / (count - 1), symmetric)
