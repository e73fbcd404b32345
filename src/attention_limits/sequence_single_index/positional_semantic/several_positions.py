"""Minima of the positional-semantic model for positional vectors in several directions.

`many_tokens` defines the model; u = (e_1 ... e_r, m), |u| = 1, are the overlaps of the student with a basis of the positional
vectors and with the teacher (arXiv:2506.02651). At a fixed e the loss R depends on m through -(1 - omega) C alone. If C grows
with m^2, which `falls` tests, all minima of R on |u| <= 1 lie on the sphere, for every strength a and weight omega < 1.

The sphere has r + 1 charts: in chart k, u_k is the largest overlap and u_j / u_k = tan(pi x_j / 4), |x_j| <= 1. In a chart q, C
and mu are Chebyshev polynomials in x, and the loss is a combination of them, linear in omega and in A. The search for the minima
of this polynomial is complete (`polynomial_minima`); every point of the sphere, up to the signs of e and of m, lies in a chart.
"""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from attention_limits.numerics.solvers.polynomial_minima import is_positive, local_minima
from attention_limits.sequence_single_index.links.link import softmax_attention
from attention_limits.sequence_single_index.positional_semantic.many_tokens import loss_parts

# Chebyshev nodes per axis of the box in which `falls` bounds C.
_BOX = 10
# Minima closer than this are one, found in two charts.
_SAME = 1e-5


@dataclass(frozen=True)
class SphereMinimum:
    """A local minimum on the sphere; -e and -m give the same loss.

    Attributes
    ----------
    e : array (r,)
        The largest entry is positive.
    m : float
        Not negative.
    value : float
        R(e, m).
    """

    e: np.ndarray
    m: float
    value: float


@dataclass(frozen=True)
class SphereMinima:
    """All minima on the sphere, up to signs.

    Attributes
    ----------
    minima : list of SphereMinimum
        The lowest first.
    undecided : int
        Number of boxes that may hold a degenerate minimum.
    truncation : float
        Sum of the coefficients of the two highest degrees along each axis: the scale of the error of the polynomials.
    """

    minima: list
    undecided: int
    truncation: float


@dataclass(frozen=True)
class SphereLoss:
    """Parts of the loss in the charts, Chebyshev coefficients: the first axis is the chart, then r axes of n.

    Attributes
    ----------
    places : array (M, r)
        Components of the positional vectors.
    q, overlap : arrays (r + 1, n, ..., n)
        Of q and C.
    mu : array (r + 1, n, ..., n, M, M)
    bare : tuple
        q(0) = E||S||^2 and mu(0).
    """

    places: np.ndarray
    q: np.ndarray
    overlap: np.ndarray
    mu: np.ndarray
    bare: tuple

    def minima(self, omega, a) -> SphereMinima:
        """All local minima at the weight `omega` < 1 of the positional part, of the strength `a`.

        Raises ValueError at omega = 1, where the loss does not depend on m.
        """
        if not omega < 1.0:
            raise ValueError(f"at omega = {omega:g} the loss does not depend on m: need omega < 1")
        fixed = softmax_attention(a * self.places[None, :, 0])[0]
        loss = 0.5 * self.q - (1.0 - omega) * self.overlap - omega * np.tensordot(self.mu, fixed, axes=2)
        square, mean = self.bare
        teacher = (1.0 - omega) ** 2 * square + 2.0 * omega * (1.0 - omega) * np.sum(fixed * mean)
        constant = 0.5 * (teacher + omega**2 * np.sum(fixed**2))
        found, undecided, truncation = [], 0, 0.0
        for chart, series in enumerate(loss):
            inside = local_minima(series)
            undecided += len(inside.undecided)
            truncation = max(truncation, _tail(series))
            for x in inside.points:
                u = _signed(chart_point(chart, x))
                if not any(np.max(np.abs(u - other)) < _SAME for other, _ in found):
                    found.append((u, constant + _series_value(series, x)))
        found.sort(key=lambda pair: pair[1])
        return SphereMinima([SphereMinimum(u[:-1], float(u[-1]), float(R)) for u, R in found], undecided, truncation)


def sphere_loss(nodes, places, count=16) -> SphereLoss:
    """The loss on the sphere from `nodes` in 2 M dimensions, for positions `places` (M, r).

    `count` Chebyshev nodes per axis: the number of evaluations grows like count^r.
    """
    places = np.asarray(places, dtype=float)
    tokens, rank = places.shape
    x = chebyshev.chebpts1(count)
    grid = np.stack(np.meshgrid(*[x] * rank, indexing="ij"), axis=-1).reshape(-1, rank)
    points = np.array([_signed(chart_point(chart, at)) for chart in range(rank + 1) for at in grid])
    values = _evaluated(nodes, points[:, :-1] @ places.T, points[:, -1])
    shape = (rank + 1, *[count] * rank)
    fit = np.linalg.inv(chebyshev.chebvander(x, count - 1))
    series = []
    for part, entries in zip(values, ((), (), (tokens, tokens)), strict=True):
        part = part.reshape(*shape, *entries)
        for axis in range(1, rank + 1):
            part = np.moveaxis(np.tensordot(fit, part, axes=(1, axis)), 0, axis)
        series.append(part)
    square, _, mean = loss_parts(nodes, np.zeros(tokens), 0.0)
    return SphereLoss(places, *series, (float(square), mean))


def falls(nodes, places):
    """Whether C grows with m^2 for all |e|^2 + m^2 <= 1, from `nodes` in 2 M dimensions, for positions `places` (M, r).

    The bound is that of the polynomial through 10 Chebyshev nodes in each e_j and in m^2, less its truncation.
    """
    places = np.asarray(places, dtype=float)
    rank = places.shape[1]
    x = chebyshev.chebpts1(_BOX)
    grid = np.stack(np.meshgrid(*[x] * (rank + 1), indexing="ij"), axis=-1).reshape(-1, rank + 1)
    # C is even in e.
    points = np.array([np.append(_leading_positive(at[:-1]), at[-1]) for at in grid])
    overlap = _evaluated(nodes, points[:, :-1] @ places.T, np.sqrt(0.5 * (points[:, -1] + 1.0)))[1]
    series = overlap.reshape([_BOX] * (rank + 1))
    fit = np.linalg.inv(chebyshev.chebvander(x, _BOX - 1))
    for axis in range(rank + 1):
        series = np.moveaxis(np.tensordot(fit, series, axes=(1, axis)), 0, axis)
    slope = chebyshev.chebder(series, scl=2.0, axis=rank)
    slope[(0,) * (rank + 1)] -= _tail(slope)

    def outside(centres, half):
        nearest = np.maximum(np.abs(centres[:, :-1]) - half, 0.0)
        return np.sum(nearest**2, axis=1) + 0.5 * (centres[:, -1] - half + 1.0) > 1.0

    return is_positive(slope, outside)


def chart_point(chart, x):
    """The point u (r + 1,) of the sphere at x (r,) in a chart (see the module)."""
    w = np.insert(np.tan(0.25 * np.pi * np.asarray(x, dtype=float)), chart, 1.0)
    return w / np.sqrt(np.sum(w**2))


def _evaluated(nodes, shifts, m):
    """(q, C, mu) at shifts (n, M) and m (n,), once for equal points: arrays (n,), (n,), (n, M, M)."""
    _, first, place = np.unique(
        np.round(np.column_stack([shifts, m]), 12), axis=0, return_index=True, return_inverse=True
    )
    values = [loss_parts(nodes, shifts[i], m[i]) for i in first]
    return [np.array(part)[place.ravel()] for part in zip(*values, strict=True)]


def _signed(u):
    """The point with the same loss whose m is not negative and whose largest |e_j| has a positive e_j."""
    return np.append(_leading_positive(u[:-1]), abs(u[-1]))


def _leading_positive(e):
    # Among entries that differ only by rounding, the first one decides.
    leading = int(np.argmax(np.abs(e) > np.max(np.abs(e)) - 1e-9))
    return e if e[leading] >= 0.0 else -e


def _tail(series):
    """Sum of the |coefficients| of the two highest degrees along each axis."""
    kept = series[tuple(slice(0, count - 2) for count in series.shape)]
    return float(np.sum(np.abs(series)) - np.sum(np.abs(kept)))


def _series_value(series, x):
    for at in x[::-1]:
        series = chebyshev.chebval(at, np.moveaxis(series, -1, 0))
    return series
