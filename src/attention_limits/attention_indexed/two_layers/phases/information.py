"""The information k_l of a model of two layers as polynomials in (log V_1, log V_2).

k_l depends on the errors V alone, not on the width or on the number of samples: one table serves the state evolution at all of
them. k_l(V) is analytic inside of 0 < V <= 1, and its interpolation at Chebyshev points converges geometrically.
"""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from attention_limits.attention_indexed.two_layers.layers import LEAST
from attention_limits.numerics.probability.statistics import PARTS

# A polynomial of so many degrees less shows the error of the interpolation.
_FEWER = 2


@dataclass(frozen=True)
class Table:
    """k_l for errors from `lowest` to 1.

    Attributes
    ----------
    lowest : float
        Smallest V of both layers.
    coefficients : array (n + 1, n + 1, 2)
        Of products of Chebyshev polynomials up to the degree n, in 1 - 2 log V_l / log(lowest), for k_1 and k_2.
    resolved : array (n + 1, n + 1)
        Fraction of outputs whose posterior met its accuracy check, at the Chebyshev points in order of falling V_1 and V_2.
    """

    lowest: float
    coefficients: np.ndarray
    resolved: np.ndarray

    def at(self, V):
        """k (2,) at errors V (2,)."""
        first, second = self._place(np.asarray(V))
        return np.maximum(chebyshev.chebval2d(first, second, self.coefficients), LEAST)

    def along(self, first, second):
        """k (2, n) at the pairs of errors of `first` and `second` (n,)."""
        return np.maximum(chebyshev.chebval2d(self._place(first), self._place(second), self.coefficients), LEAST)

    def grid(self, first, second):
        """k (2, n, m) at all pairs of errors of `first` (n,) and `second` (m,)."""
        return np.maximum(chebyshev.chebgrid2d(self._place(first), self._place(second), self.coefficients), LEAST)

    def resolved_along(self, first, second):
        """Smallest `resolved` of the points next to the pairs of errors of `first` and `second` (n,); one for no pair."""
        cosines = chebyshev_points(len(self.resolved) - 1)
        nearest = (np.argmin(np.abs(self._place(values)[:, None] - cosines), axis=1) for values in (first, second))
        return float(np.min(self.resolved[tuple(nearest)], initial=1.0))

    def coarser(self):
        """The table of polynomials of smaller degree."""
        kept = len(self.coefficients) - _FEWER
        return Table(self.lowest, self.coefficients[:kept, :kept], self.resolved)

    def _place(self, V):
        return np.clip(1.0 - 2.0 * np.log(V) / np.log(self.lowest), -1.0, 1.0)


def chebyshev_points(degree: int) -> np.ndarray:
    """The extreme points (degree + 1,) of the Chebyshev polynomial, from 1 to -1."""
    return np.cos(np.pi * np.arange(degree + 1) / degree)


def tabulate(model, nodes, degree: int, lowest: float) -> tuple[Table, list[Table]]:
    """The table of a `model` on all `nodes` (Gaussian, of dimension `model.node_dimension`), and those of their PARTS parts.

    The table of all nodes is the mean of those of the parts. `degree` is n, `lowest` as in `Table`.
    """
    parts = [_table(model.part(k), some, degree, lowest) for k, some in enumerate(nodes.blocks(PARTS))]
    means = (np.mean([getattr(part, name) for part in parts], axis=0) for name in ("coefficients", "resolved"))
    return Table(lowest, *means), parts


def _table(model, nodes, degree, lowest):
    cosines = chebyshev_points(degree)
    V = lowest ** (0.5 * (1.0 - cosines))
    found = [[model.averages((first, second), nodes) for second in V] for first in V]
    information = np.array([[one.information for one in row] for row in found])
    to_coefficients = np.linalg.inv(chebyshev.chebvander(cosines, degree))
    coefficients = np.einsum("ia,jb,abl->ijl", to_coefficients, to_coefficients, information)
    return Table(lowest, coefficients, np.array([[one.resolved for one in row] for row in found]))
