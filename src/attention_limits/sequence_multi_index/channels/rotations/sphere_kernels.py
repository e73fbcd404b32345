"""Posterior moments of a vector of known length and unknown direction: one layer of rank p that reads two tokens.

In an orthonormal pair of tokens, S = (h_1 + h_2) / sqrt(2) and D = (h_1 - h_2) / sqrt(2), the output of `links.attention.rank`
fixes D = d e and e . S = c; the direction e on the sphere in p dimensions and the part of S across e are free. The model is that
of Troiani et al. 2025 (arXiv:2502.00901), the method derived in this module. For V = v I the part of S across e is Gaussian and

    p(e | y) ~ exp(k . e - (c - sigma . e)^2 / 2 v),   k = d delta / v,

sigma and delta the prior means of S and D. With u = e . sigma / |sigma| = cos theta and e = u sigma / |sigma| + sin theta eta,
eta on the sphere in p - 1 dimensions has a von Mises-Fisher law of concentration |k across sigma| sin theta, whose normalisation
and moments are Bessel functions of the order (p - 3) / 2 (Mardia and Jupp 2000, section 9.3). One integral over theta is left, by
Gauss-Legendre rules on panels of the narrowest width.
"""

import math

import numpy as np
from numba import prange

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.probability.von_mises_fisher import direction

# Nodes of a panel; panels at the start; the width of a panel at resolution 1 in units of the narrowest width; the most panels.
NODES, FIRST_PANELS, PANEL, MOST = 12, 4, 2.0, 4096
GAUSS_POINTS, GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(NODES)
# Parts of the sphere with a log-weight this far below the largest are left out.
CUTOFF = 40.0


@njit
def _exponent(theta, rank, c, sigma, v, along, across):
    """Log-weight at theta, and the mean of eta over its concentration."""
    cosine, sine = math.cos(theta), math.sin(theta)
    log_mean, ratio = direction(0.5 * (rank - 3.0), across * sine)
    value = along * cosine - (c - sigma * cosine) ** 2 / (2.0 * v) + log_mean
    if rank > 2:
        value += (rank - 2.0) * math.log(max(sine, 1e-300))
    return value, ratio


@njit
def _bound(theta, half, c, sigma, v, along, across, curvature):
    """No log-weight within `half` of theta is above this: E[exp(x e_1)] <= exp(x), and sin theta <= 1."""
    cosine, sine = math.cos(theta), math.sin(theta)
    value = along * cosine + across * sine - (c - sigma * cosine) ** 2 / (2.0 * v)
    slope = across * cosine - along * sine - (c - sigma * cosine) * sigma * sine / v
    return value + abs(slope) * half + 0.5 * curvature * half * half


@njit
def _panels(rank, c, sigma, v, along, across, resolution, starts, others):
    """Fills `starts` with the first angles of the panels that carry weight.

    Returns their number (-1: too many), their width and about the largest log-weight.
    """
    curvature = math.sqrt(along * along + across * across) + (2.0 * sigma * sigma + abs(c) * sigma) / v
    wanted = PANEL / (resolution * math.sqrt(curvature + rank))
    width, count, largest = math.pi / FIRST_PANELS, FIRST_PANELS, -np.inf
    for i in range(count):
        starts[i] = i * width
    while True:
        half, kept = 0.5 * width, 0
        for i in range(count):
            largest = max(largest, _exponent(starts[i] + half, rank, c, sigma, v, along, across)[0])
        for i in range(count):
            middle = starts[i] + half
            if _bound(middle, half, c, sigma, v, along, across, curvature) >= largest - CUTOFF:
                others[kept] = starts[i]
                kept += 1
        if width <= wanted or 2 * kept > MOST:
            starts[:kept] = others[:kept]
            return kept if width <= wanted else -1, width, largest
        width, count = half, 2 * kept
        for i in range(kept):
            starts[2 * i], starts[2 * i + 1] = others[i], others[i] + half


@njit
def _sums(rank, c, sigma, v, along, across, panels, width, largest, starts, sums):
    """Fills sums (3, 5): of 1, m, m^2 with m = c - sigma u, times 1 (in 0), u (1), eta . mu (2), u u (3), u eta . mu (4).

    Returns the integral of the weight exp(log-weight - largest) and the same three sums of the squares of e along mu and across
    both.
    """
    squares, rest = np.zeros(3), np.zeros(3)
    sums[:] = 0.0
    for i in range(panels):
        for j in range(NODES):
            theta = starts[i] + 0.5 * width * (1.0 + GAUSS_POINTS[j])
            value, ratio = _exponent(theta, rank, c, sigma, v, along, across)
            if value < largest - CUTOFF:
                continue
            weight = 0.5 * width * GAUSS_WEIGHTS[j] * math.exp(value - largest)
            u, sine = math.cos(theta), math.sin(theta)
            m = c - sigma * u
            mean = sine * ratio * across * sine
            for g in range(3):
                sums[g, 0] += weight
                sums[g, 1] += weight * u
                sums[g, 2] += weight * mean
                sums[g, 3] += weight * u * u
                sums[g, 4] += weight * u * mean
                squares[g] += weight * sine * sine * (1.0 - (rank - 2.0) * ratio)
                rest[g] += weight * sine * sine * ratio
                weight *= m
    return squares, rest


@njit
def _frame(sigma, k, first, second):
    """Unit vectors along sigma, and along the part of k across it (zero if there is none); returns |sigma| and k in them."""
    length, size = math.sqrt(np.sum(sigma * sigma)), math.sqrt(np.sum(k * k))
    first[:] = 0.0
    second[:] = 0.0
    if length > 0:
        first[:] = sigma / length
    elif size > 0:
        first[:] = k / size
    else:
        first[0] = 1.0
    along = np.sum(first * k)
    second[:] = k - along * first
    across = math.sqrt(np.sum(second * second))
    if across > 0:
        second /= across
    return length, along, across


@njit
def _moments(x, omega, v, resolution, mean, second):
    """Moments of one output into mean (2 p,) and second (2 p, 2 p); returns log Z and whether it is resolved."""
    rank = omega.shape[0]
    sigma = (omega[:, 0] + omega[:, 1]) / math.sqrt(2.0)
    delta = (omega[:, 0] - omega[:, 1]) / math.sqrt(2.0)
    c, d = (x[0] + x[1]) / math.sqrt(2.0), (x[0] - x[1]) / math.sqrt(2.0)
    first, other = np.empty(rank), np.empty(rank)
    length, along, across = _frame(sigma, d * delta / v, first, other)
    starts, others, sums = np.empty(MOST), np.empty(MOST), np.empty((3, 5))
    panels, width, largest = _panels(rank, c, length, v, along, across, resolution, starts, others)
    if panels < 0:
        mean[:] = 0.0
        second[:] = v * np.eye(2 * rank)
        return -np.inf, False
    squares, rest = _sums(rank, c, length, v, along, across, panels, width, largest, starts, sums)
    total = sums[0, 0]
    # E[m^g e] and E[m^g e e^T].
    vectors, matrices = np.empty((3, rank)), np.empty((3, rank, rank))
    for g in range(3):
        for i in range(rank):
            vectors[g, i] = (sums[g, 1] * first[i] + sums[g, 2] * other[i]) / total
            for j in range(rank):
                both = first[i] * other[j] + other[i] * first[j]
                ss, mm = first[i] * first[j], other[i] * other[j]
                value = sums[g, 3] * ss + sums[g, 4] * both + squares[g] * mm
                value += rest[g] * ((1.0 if i == j else 0.0) - ss - mm)
                matrices[g, i, j] = value / total
    root = math.sqrt(0.5)
    for i in range(rank):
        s, t = vectors[1, i], d * vectors[0, i] - delta[i]
        mean[2 * i], mean[2 * i + 1] = root * (s + t), root * (s - t)
        for j in range(rank):
            dd = (
                d * d * matrices[0, i, j]
                - d * (vectors[0, i] * delta[j] + delta[i] * vectors[0, j])
                + delta[i] * delta[j]
            )
            sd = d * matrices[1, i, j] - vectors[1, i] * delta[j]
            ds = d * matrices[1, i, j] - delta[i] * vectors[1, j]
            ss = matrices[2, i, j] + v * ((1.0 if i == j else 0.0) - matrices[0, i, j])
            second[2 * i, 2 * j] = 0.5 * (ss + sd + ds + dd)
            second[2 * i, 2 * j + 1] = 0.5 * (ss - sd + ds - dd)
            second[2 * i + 1, 2 * j] = 0.5 * (ss + sd - ds - dd)
            second[2 * i + 1, 2 * j + 1] = 0.5 * (ss - sd - ds + dd)
    # The surface of the sphere in p - 1 dimensions.
    half = 0.5 * (rank - 1.0)
    surface = math.log(2.0) + half * math.log(math.pi) - math.lgamma(half)
    log_z = largest + math.log(total) + surface + (rank - 3.0) * math.log(math.sqrt(2.0) * abs(d))
    log_z -= 0.5 * (rank + 1.0) * math.log(2.0) + 0.5 * (rank + 1.0) * math.log(2.0 * math.pi * v)
    return log_z - 0.5 * (d * d + np.sum(delta * delta)) / v, True


@njit(parallel=True)
def sphere_moments(x, omega, v, resolution, log_z, mean, second, resolved):
    """Posterior moments of n outputs of one layer of p >= 2 rows that reads two tokens, for V = v I.

    Parameters
    ----------
    x : array (n, 2)
        x_1 and x_2 in h_a = x_a e + z, z across e, as `links.attention.rank` observes them.
    omega : array (n, p, 2)
        Prior means (sample, row, token).
    v : float
        Prior variance.
    resolution : float
        Inverse width of the panels, 1 is PANEL.
    log_z : array (n,)
        Out: log Z_out, in the density of (a, b), see `links.attention.rank`.
    mean : array (n, 2 p)
        Out: E[h - omega | y], rows before tokens.
    second : array (n, 2 p, 2 p)
        Out: E[(h - omega)(h - omega)^T | y].
    resolved : bool array (n,)
        Out: whether the panels reached their width.
    """
    for i in prange(len(x)):
        log_z[i], resolved[i] = _moments(x[i], omega[i], v, resolution, mean[i], second[i])


@njit(parallel=True)
def length_moments(y, omega, v, log_z, mean, second):
    """Posterior moments of n outputs y = |h|^2 of P >= 2 rows and one token, for V = v I: a von Mises-Fisher law, exact.

    With h = sqrt(y) e the direction has the concentration sqrt(y) |omega| / v around omega, and dh = y^(P/2 - 1) / 2 dy de.

    Parameters
    ----------
    y : array (n,)
    omega : array (n, P)
        Prior means.
    v : float
        Prior variance.
    log_z : array (n,)
        Out: log Z_out, in the density of y.
    mean : array (n, P)
        Out: E[h - omega | y].
    second : array (n, P, P)
        Out: E[(h - omega)(h - omega)^T | y].
    """
    rank = omega.shape[1]
    half = 0.5 * rank
    for n in prange(len(y)):
        squares = np.sum(omega[n] * omega[n])
        log_mean, ratio = direction(half - 1.0, math.sqrt(y[n] * squares) / v)
        surface = half * math.log(math.pi) - math.lgamma(half)
        log_z[n] = (
            surface
            + (half - 1.0) * math.log(y[n])
            + log_mean
            - half * math.log(2.0 * math.pi * v)
            - 0.5 * (y[n] + squares) / v
        )
        # E h = slope omega, and E h h^T = across I + along omega omega^T.
        slope, across = y[n] * ratio / v, y[n] * ratio
        along = y[n] * (1.0 - rank * ratio) / squares if squares > 0 else 0.0
        for i in range(rank):
            mean[n, i] = (slope - 1.0) * omega[n, i]
            for j in range(rank):
                second[n, i, j] = (along - 2.0 * slope + 1.0) * omega[n, i] * omega[n, j] + (across if i == j else 0.0)
