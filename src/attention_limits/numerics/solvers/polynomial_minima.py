"""All local minima of a polynomial in a box, by subdivision of its Bernstein coefficients.

The coefficients b_j of p = sum_j b_j B_j on a box bound p on it: min b <= p <= max b, and differences of b bound its derivatives
(R. T. Farouki, The Bernstein polynomial basis: a centennial retrospective, Computer Aided Geometric Design 29 (2012) 379). A box
leaves the search when a derivative has no zero in it, or when a direction has negative curvature everywhere in it. So the search
misses no minimum: each lies in a box that stays.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

# Half widths: a smaller convex box gives its minimum; a box stays undecided at the second, and a sign at the third.
_SMALL, _SMALLEST, _UNPROVEN = 2.0**-7, 2.0**-16, 2.0**-9
# The largest number of boxes at a time.
_MOST = 20_000
# Differences smaller than this, relative to the coefficients, have no certain sign.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class PolynomialMinima:
    """Local minima of a polynomial in [-1, 1]^r.

    Attributes
    ----------
    points : array (n, r)
        Minima with positive definite Hessian.
    undecided : array (k, r)
        Centres of boxes of half width 2^-16 that may hold a degenerate minimum, or several minima.
    """

    points: np.ndarray
    undecided: np.ndarray


def bernstein_matrix(count):
    """Matrix (count, count): Chebyshev coefficients on [-1, 1] -> Bernstein coefficients of degree count - 1 on the interval."""
    found = np.zeros((count, count))
    for k in range(count):
        column = np.array([(-1) ** (k - j) * math.comb(2 * k, 2 * j) / math.comb(k, j) for j in range(k + 1)])
        for n in range(k + 1, count):
            share = np.arange(n + 1) / n
            column = share * np.append(0.0, column) + (1.0 - share) * np.append(column, 0.0)
        found[:, k] = column
    return found


def local_minima(series) -> PolynomialMinima:
    """All local minima where the gradient vanishes, in the closed box [-1, 1]^r.

    Parameters
    ----------
    series : array (n_1, ..., n_r)
        Chebyshev coefficients of the polynomial, at least three along each axis.

    Raises
    ------
    ValueError
        If 20 000 boxes are not enough: the polynomial has a continuum of stationary points.
    """
    rank = series.ndim
    boxes, centres, half = _bernstein(series)[None], np.zeros((1, rank)), 1.0
    found = []
    while len(boxes):
        stationary, lowest, spread = _derivatives(boxes)
        kept = stationary & (lowest + spread >= 0.0)
        if half <= _SMALL:
            convex = kept & (lowest - spread > 0.0)
            _add_minima(found, series, centres[convex], half)
            kept &= ~convex
        boxes, centres = boxes[kept], centres[kept]
        if half <= _SMALLEST:
            break
        if len(boxes) * 2**rank > _MOST:
            raise ValueError(f"more than {_MOST} boxes: the polynomial has a continuum of stationary points")
        boxes, centres, half = *_halves(boxes, centres, half), 0.5 * half
    return PolynomialMinima(np.array(found).reshape(-1, rank), centres)


def _add_minima(found, series, centres, half):
    """Append to the list `found` the minima in boxes in which the polynomial is convex."""
    for centre in centres:
        point = _newton(series, centre)
        # Accept a point beyond the box by a rounding error: the neighbour with this point on its face may have left the search.
        inside = point is not None and np.all(np.abs(point - centre) <= half + 1e-9)
        if inside and not any(np.max(np.abs(point - other)) < 1e-7 for other in found):
            found.append(point)


def is_positive(series, outside):
    """Whether a polynomial is proven positive in the part of [-1, 1]^r that counts, by boxes of half width 2^-9 or larger.

    Parameters
    ----------
    series : array (n_1, ..., n_r)
        Chebyshev coefficients.
    outside : callable
        (centres (k, r), half width) -> bool (k,): the box does not count.
    """
    boxes, centres, half = _bernstein(series)[None], np.zeros((1, series.ndim)), 1.0
    while len(boxes):
        kept = ~outside(centres, half) & (boxes.reshape(len(boxes), -1).min(axis=1) <= 0.0)
        boxes, centres = boxes[kept], centres[kept]
        if half <= _UNPROVEN or len(boxes) * 2**series.ndim > _MOST:
            return not len(boxes)
        boxes, centres, half = *_halves(boxes, centres, half), 0.5 * half
    return True


def _bernstein(series):
    for axis, count in enumerate(series.shape):
        series = np.moveaxis(np.tensordot(bernstein_matrix(count), series, axes=(1, axis)), 0, axis)
    return series


def _derivatives(boxes):
    """For boxes (k, n_1, ..., n_r): whether all derivatives may vanish; the lowest eigenvalue of the Hessian, and its spread.

    The Hessian, in units of the box, lies within a spread of the matrix in the middle of the ranges of its entries.
    """
    count, rank = len(boxes), boxes.ndim - 1
    rounding = _ROUNDING * np.abs(boxes).reshape(count, -1).max(axis=1)
    stationary = np.ones(count, dtype=bool)
    middle, radius = np.zeros((count, rank, rank)), np.zeros((count, rank, rank))
    for i in range(rank):
        slope = np.diff(boxes, axis=i + 1)
        flat = slope.reshape(count, -1)
        stationary &= (flat.min(axis=1) <= rounding) & (flat.max(axis=1) >= -rounding)
        for j in range(i, rank):
            factor = (boxes.shape[i + 1] - 1) * (boxes.shape[j + 1] - 1 - (i == j))
            curved = factor * np.diff(slope, axis=j + 1).reshape(count, -1)
            low, high = curved.min(axis=1), curved.max(axis=1)
            middle[:, i, j] = middle[:, j, i] = 0.5 * (low + high)
            radius[:, i, j] = radius[:, j, i] = 0.5 * (high - low) + factor * rounding
    # The spectral norm of a matrix within the entrywise radius is at most its largest row sum.
    return stationary, np.linalg.eigvalsh(middle)[:, 0], radius.sum(axis=2).max(axis=1)


def _halves(boxes, centres, half):
    """The boxes (2^r k, ...) that halve each axis of boxes (k, ...), by de Casteljau's algorithm, and their centres."""
    for axis in range(boxes.ndim - 1):
        count = boxes.shape[axis + 1]
        left = np.array([[math.comb(j, k) * 0.5**j for k in range(count)] for j in range(count)])
        right = left[::-1, ::-1]
        shift = 0.5 * half * np.eye(boxes.ndim - 1)[axis]
        boxes = np.concatenate(
            [np.moveaxis(np.tensordot(side, boxes, axes=(1, axis + 1)), 0, axis + 1) for side in (left, right)]
        )
        centres = np.concatenate([centres - shift, centres + shift])
    return boxes, centres


def _newton(series, point):
    """The zero of the gradient next to a `point` where the Hessian is positive definite, or None."""
    rank = series.ndim
    slopes = [chebyshev.chebder(series, axis=i) for i in range(rank)]
    curves = [[chebyshev.chebder(slope, axis=j) for j in range(rank)] for slope in slopes]
    for _ in range(30):
        gradient = np.array([_value(slope, point) for slope in slopes])
        step = np.linalg.solve(np.array([[_value(entry, point) for entry in row] for row in curves]), gradient)
        point = point - step
        if np.max(np.abs(step)) < 1e-12:
            return point
        if np.max(np.abs(point)) > 2.0:
            return None
    return point if np.max(np.abs(step)) < 1e-8 else None


def _value(series, point):
    for x in point[::-1]:
        series = chebyshev.chebval(x, np.moveaxis(series, -1, 0))
    return series
