"""Escape time of SGD of any tied student with positional vectors along one direction: first passage in the plane (e, m).

The diffusion of `escape_diffusion` in two overlaps leaves the disc e^2 + m^2 < threshold after the time u, with

    -1 = b . grad u + (1/2d) sum_ij a_ij d_i d_j u,    u = 0 on the circle

(drift b and diffusion a of `any_student_flow`; arXiv:2506.02651 states the dynamics, the equation is derived for this project).
Along each axis the equation is that of a chain of jumps by exponential fitting, as in one overlap; the last jump before the
circle is as long as the distance to it. The mixed derivative is a difference over the four corners of a point, and left out
where one of them lies outside of the disc.
"""

import numpy as np
from numpy.polynomial import chebyshev
from scipy.sparse import coo_matrix, csc_matrix, identity
from scipy.sparse.linalg import splu

from attention_limits.sequence_single_index.large_dimension.escape_diffusion import QUANTILES, SLOWEST, bernoulli

# Points of the mesh on each side of zero, for both overlaps.
PLANE_MESH = 96
# Degree of the polynomials of drift and diffusion in (e, m); radii and angles where they are fitted.
_DEGREE, _RADII, _ANGLES = 12, 8, 28
# Steps in time in units of the mean, and how many mean times a quantile is looked for.
_STEPS, _LONGEST = 200, 20
# Jumps of less than this share of the next gap are no part of the mesh: the circle is that near.
_NEAREST = 1e-3


def escape_times(flow, dimension, start, threshold, mesh=PLANE_MESH):
    """Escape steps of the diffusion: mean and `QUANTILES`, array (4,); zero and infinite as in one overlap.

    Parameters
    ----------
    flow : any_student_flow.LinkFlow
        Of a problem whose positional vectors have one direction.
    dimension : float
        d.
    start : array (2,)
        Overlaps (e, m) with this direction and with the teacher at the start.
    threshold : float
        Of e^2 + m^2.
    mesh : int
        Points of the mesh on each side of zero.

    Raises
    ------
    ValueError
        If the positional vectors have no direction or several.
    """
    directions = flow.problem.components.shape[1]
    if directions != 1:
        raise ValueError(f"the escape in the plane needs positional vectors of one direction, got {directions}")
    edge = np.sqrt(threshold)
    if np.hypot(*start) >= edge:
        return np.zeros(1 + len(QUANTILES))
    axes = [_axis(edge, dimension, value, mesh) for value in start]
    generator, numbers = _generator(axes, edge, _fitted(flow, edge, dimension))
    place = numbers[tuple(int(np.argmin(np.abs(axis - value))) for axis, value in zip(axes, start, strict=True))]
    mean = -splu(generator).solve(np.ones(generator.shape[0]))[place]
    if not 0.0 < mean * np.max(np.abs(generator.diagonal())) < SLOWEST:
        return np.full(1 + len(QUANTILES), np.inf)
    return dimension * np.array([mean, *_quantiles(generator, place, mean)])


def _axis(edge, dimension, start, mesh):
    """Points (2 mesh + 1,) of one overlap, dense where the noise matters, one of them at `start`."""
    scale = min(dimension**-0.5, 0.1 * edge)
    half = scale * np.sinh(np.arcsinh(edge / scale) * np.arange(1, mesh + 1) / mesh)
    points = np.concatenate([-half[::-1], [0.0], half])
    points[1 + int(np.argmin(np.abs(points[1:-1] - start)))] = start
    return points


def _fitted(flow, edge, dimension):
    """Function of (e, m): drift b_e, b_m and noise a_ee, a_mm, a_em over 2 d, array (5, ...), by least squares in the disc."""
    radii = edge * np.cos(np.pi * (np.arange(_RADII) + 0.5) / (2 * _RADII))
    angles = 2.0 * np.pi * np.arange(_ANGLES) / _ANGLES
    e, m = (np.append(np.outer(radii, turn(angles)).ravel(), 0.0) for turn in (np.cos, np.sin))
    kept = np.add.outer(np.arange(_DEGREE + 1), np.arange(_DEGREE + 1)) <= _DEGREE

    def table(e, m):
        return chebyshev.chebvander2d(e / edge, m / edge, [_DEGREE, _DEGREE])[..., kept.ravel()]

    values = []
    for x in zip(e, m, strict=True):
        noise = flow.diffusion(x) / (2.0 * dimension)
        values.append([*flow.drift(x), noise[0, 0], noise[1, 1], noise[0, 1]])
    fit = np.linalg.lstsq(table(e, m), np.array(values), rcond=None)[0]
    return lambda e, m: np.moveaxis(table(e, m) @ fit, -1, 0)


def _generator(axes, edge, field):
    """Jump rates between the n points inside of the circle, sparse matrix (n, n), and their numbers, -1 outside."""
    e, m = np.meshgrid(*axes, indexing="ij")
    inside = np.hypot(e, m) < edge * (1.0 - 1e-9)
    numbers = np.full(inside.shape, -1)
    numbers[inside] = np.arange(inside.sum())
    at = np.argwhere(inside)
    point, own = np.stack([e[inside], m[inside]]), np.arange(len(at))
    rows, columns, rates = [], [], []
    leaving = np.zeros(len(at))
    for axis in (0, 1):
        others = []
        # The point of the circle on the same line.
        rim = np.sqrt(np.maximum(edge**2 - point[1 - axis] ** 2, 0.0))
        for side in (1, -1):
            shifted = at.copy()
            shifted[:, axis] += side
            there = (shifted[:, axis] >= 0) & (shifted[:, axis] < len(axes[axis]))
            number = np.where(there, numbers[tuple(np.clip(shifted, 0, len(axes[axis]) - 1).T)], -1)
            next_to = axes[axis][np.clip(shifted[:, axis], 0, len(axes[axis]) - 1)]
            gap = np.where(number >= 0, side * (next_to - point[axis]), rim - side * point[axis])
            others.append((number, np.maximum(gap, _NEAREST * np.min(np.diff(axes[axis])))))
        width = 0.5 * (others[0][1] + others[1][1])
        noise = field(*point)[2 + axis]
        for side, (number, gap) in zip((1, -1), others, strict=True):
            middle = point.copy()
            middle[axis] += 0.5 * side * gap
            between = field(*middle)
            rate = noise / (width * gap) * bernoulli(-side * between[axis] / between[2 + axis] * gap)
            leaving += rate
            known = number >= 0
            rows.append(own[known])
            columns.append(number[known])
            rates.append(rate[known])
    corners = _mixed(axes, at, numbers, field(*point)[4])
    rows, columns, rates = (
        np.concatenate([*first, *second]) for first, second in zip((rows, columns, rates), corners, strict=True)
    )
    matrix = coo_matrix((rates, (rows, columns)), shape=(len(at), len(at))).tocsc()
    return csc_matrix(matrix - identity(len(at), format="csc").multiply(leaving)), numbers


def _mixed(axes, at, numbers, noise):
    """Rows, columns and rates of 2 noise d_e d_m u over the four corners of each point, `noise` = a_em / (2 d)."""
    last = len(axes[0]) - 1
    low, high = np.clip(at - 1, 0, last), np.clip(at + 1, 0, last)
    spans = [axis[high[:, k]] - axis[low[:, k]] for k, axis in enumerate(axes)]
    found = {
        (i, j): numbers[(high if i > 0 else low)[:, 0], (high if j > 0 else low)[:, 1]]
        for i in (1, -1)
        for j in (1, -1)
    }
    whole = np.all([number >= 0 for number in found.values()], axis=0)
    rate = 2.0 * noise / (spans[0] * spans[1])
    own = np.flatnonzero(whole)
    return (
        [own for _ in found], [number[whole] for number in found.values()], [i * j * rate[whole] for i, j in found]
    )  # fmt: skip


def _quantiles(generator, place, mean):
    """Times at which the fraction of escapes from the point number `place` reaches each of the `QUANTILES`.

    Crank-Nicolson steps after four half steps of the implicit Euler rule, which remove the jump at the circle (Rannacher 1984):
    both need one factorisation.
    """
    step = mean / _STEPS
    matrix = identity(generator.shape[0], format="csc") - 0.5 * step * generator
    solve = splu(csc_matrix(matrix)).solve
    u, times, survival = np.ones(generator.shape[0]), [0.0], [1.0]
    for _ in range(4):
        u = solve(u)
        times.append(times[-1] + 0.5 * step)
        survival.append(u[place])
    while survival[-1] > 1.0 - QUANTILES[-1] and times[-1] < _LONGEST * mean:
        u = solve(u + 0.5 * step * (generator @ u))
        times.append(times[-1] + step)
        survival.append(u[place])
    escaped = 1.0 - np.array(survival)
    return [float(np.interp(level, escaped, times)) if escaped[-1] >= level else np.nan for level in QUANTILES]
