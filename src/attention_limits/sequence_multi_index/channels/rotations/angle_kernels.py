"""Posterior moments of one attention layer of rank two that reads two tokens, by a trapezoid rule over one angle.

In an orthonormal pair of tokens, S = (h_1 + h_2) / sqrt(2) and D = (h_1 - h_2) / sqrt(2), the output of `links.attention.rank`
fixes D = d e and e . S = c, e = (cos phi, sin phi); the angle phi and the part of S across e are free. The model is that of
Troiani et al. 2025 (arXiv:2502.00901), the method derived in this module. With the prior means sigma and delta of S and D, P =
V^-1, q = e^T V e, r = c - e . sigma and f = (-sin phi, cos phi) the integral over the part across e is Gaussian:

    Z = (2 pi)^(-3/2) (8 det V)^(-1/2) / |x_1 - x_2| int dphi q^(-1/2) exp(-r^2 / 2 q - (d e - delta)^T P (d e - delta) / 2),
    E[S - sigma | e] = V e r / q,   Cov(S | e) = det(V) f f^T / q.

The integrand is analytic and periodic: the trapezoid rule converges geometrically once its step resolves the narrowest width.
Blocks of nodes that carry no weight are left out by bisection.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import prange

from attention_limits.numerics.compiled import FAST, njit
from attention_limits.numerics.fast_math import exp
from attention_limits.sequence_multi_index.channels.trapezoid.lattice_kernels import MAX_IMBALANCE

# Nodes per narrowest width at resolution 1, and the fewest nodes.
PER_WIDTH, FEWEST = 3.5, 48
# Nodes of a block, an even number; the fewest blocks before the bisection, and the most that carry weight.
BLOCK, FIRST, MOST = 16, 4, 4096
# Blocks with a log-weight this far below the largest are left out.
CUTOFF = 40.0


class Law(NamedTuple):
    """The prior covariance V (2, 2) of the fields, its inverse P, and the smallest and the largest eigenvalue of V."""

    V: np.ndarray
    P: np.ndarray
    smallest: float
    largest: float


class Output(NamedTuple):
    """One output: c, d, and the prior means sigma (2,) and delta (2,)."""

    c: float
    d: float
    sigma: np.ndarray
    delta: np.ndarray


@njit
def _first_blocks(x, omega, smallest, resolution):
    """Number of blocks before the bisection, and of bisections; `smallest` is the smallest eigenvalue of V."""
    length = 0.0
    for a in range(2):
        length += (abs(x[a]) + math.sqrt(omega[0, a] ** 2 + omega[1, a] ** 2)) * abs(x[a])
    wanted = max(2.0 * math.pi * PER_WIDTH * resolution * math.sqrt(length / smallest + 1.0), FEWEST) / BLOCK
    halvings = max(0, int(math.log2(wanted / FIRST)))
    return math.ceil(wanted / 2.0**halvings), halvings


@njit
def _at_middle(phi, half, output, law):
    """The log-weight at phi, and a number that no log-weight within `half` of phi is above."""
    c, d, sigma, delta = output
    V, P, smallest, largest = law
    e_0, e_1 = math.cos(phi), math.sin(phi)
    D_0, D_1 = d * e_0 - delta[0], d * e_1 - delta[1]
    P_0, P_1 = P[0, 0] * D_0 + P[0, 1] * D_1, P[0, 1] * D_0 + P[1, 1] * D_1
    square = 0.5 * (P_0 * D_0 + P_1 * D_1)
    slope = d * (P_1 * e_0 - P_0 * e_1)
    r, q = c - sigma[0] * e_0 - sigma[1] * e_1, V[0, 0] * e_0**2 + 2.0 * V[0, 1] * e_0 * e_1 + V[1, 1] * e_1**2
    value = -square - 0.5 * r * r / q - 0.5 * math.log(q)
    # The square has the second derivative d^2 f^T P f - d e^T P (d e - delta).
    curvature = (2.0 * d * d + abs(d) * math.sqrt(delta[0] ** 2 + delta[1] ** 2)) / smallest
    least = square - abs(slope) * half - 0.5 * curvature * half * half
    away = max(abs(r) - math.sqrt(sigma[0] ** 2 + sigma[1] ** 2) * half, 0.0)
    spread = (largest - smallest) * half
    low, high = max(q - spread, smallest), min(q + spread, largest)
    return value, -max(least, 0.0) - 0.5 * away * away / high - 0.5 * math.log(low)


@njit
def _blocks(first, halvings, output, law, kept, bounds):
    """Fills `kept` with the numbers of the blocks that carry weight, of first 2^halvings; `bounds` is a work space.

    Returns how many they are (-1: too many) and about the largest log-weight.
    """
    count, top = first, -np.inf
    for i in range(count):
        kept[i] = i
    for level in range(halvings + 1):
        half = math.pi / (first * 2.0**level)
        for i in range(count):
            value, bounds[i] = _at_middle((2 * kept[i] + 1) * half, half, output, law)
            top = max(top, value)
        left = 0
        for i in range(count):
            if bounds[i] >= top - CUTOFF:
                kept[left] = kept[i]
                left += 1
        count = left
        if level < halvings:
            if 2 * count > MOST:
                return -1, top
            for i in range(count - 1, -1, -1):
                kept[2 * i], kept[2 * i + 1] = 2 * kept[i], 2 * kept[i] + 1
            count *= 2
    return count, top


@njit
def _directions(kept, step, cosine, sine):
    """Fills cosine and sine with e at the nodes of the blocks `kept`, nodes `step` apart."""
    turns = np.empty((2, BLOCK))
    turns[0, 0], turns[1, 0] = 1.0, 0.0
    c, s = math.cos(step), math.sin(step)
    for k in range(1, BLOCK):
        turns[0, k] = c * turns[0, k - 1] - s * turns[1, k - 1]
        turns[1, k] = s * turns[0, k - 1] + c * turns[1, k - 1]
    for i in range(len(kept)):
        c, s = math.cos(kept[i] * BLOCK * step), math.sin(kept[i] * BLOCK * step)
        for k in range(BLOCK):
            cosine[BLOCK * i + k] = c * turns[0, k] - s * turns[1, k]
            sine[BLOCK * i + k] = s * turns[0, k] + c * turns[1, k]


@njit(fastmath=FAST, error_model="numpy")
def _sums(cosine, sine, output, law, top, mean, second):
    """Moments of (S - sigma, D - delta) into mean (4,) and the upper half of second (4, 4).

    Returns the total weight, and that of the even nodes minus that of the odd ones; weights have the factor exp(-top).
    """
    c, d = output.c, output.d
    sigma_0, sigma_1, delta_0, delta_1 = output.sigma[0], output.sigma[1], output.delta[0], output.delta[1]
    V_00, V_01, V_11 = law.V[0, 0], law.V[0, 1], law.V[1, 1]
    P_00, P_01, P_11 = law.P[0, 0], law.P[0, 1], law.P[1, 1]
    determinant = V_00 * V_11 - V_01 * V_01
    total = imbalance = s_0 = s_1 = d_0 = d_1 = 0.0
    ss_00 = ss_01 = ss_11 = dd_00 = dd_01 = dd_11 = sd_00 = sd_01 = sd_10 = sd_11 = 0.0
    for i in range(len(cosine)):
        e_0, e_1 = cosine[i], sine[i]
        D_0, D_1 = d * e_0 - delta_0, d * e_1 - delta_1
        V_0, V_1 = V_00 * e_0 + V_01 * e_1, V_01 * e_0 + V_11 * e_1
        r, inverse = c - sigma_0 * e_0 - sigma_1 * e_1, 1.0 / (V_0 * e_0 + V_1 * e_1)
        square = P_00 * D_0 * D_0 + 2.0 * P_01 * D_0 * D_1 + P_11 * D_1 * D_1
        w = math.sqrt(inverse) * exp(-0.5 * (r * r * inverse + square) - top)
        S_0, S_1 = V_0 * r * inverse, V_1 * r * inverse
        across = determinant * inverse
        total += w
        imbalance += w * (1.0 - 2.0 * (i & 1))
        s_0 += w * S_0
        s_1 += w * S_1
        d_0 += w * D_0
        d_1 += w * D_1
        ss_00 += w * (S_0 * S_0 + across * e_1 * e_1)
        ss_01 += w * (S_0 * S_1 - across * e_0 * e_1)
        ss_11 += w * (S_1 * S_1 + across * e_0 * e_0)
        dd_00 += w * D_0 * D_0
        dd_01 += w * D_0 * D_1
        dd_11 += w * D_1 * D_1
        sd_00 += w * S_0 * D_0
        sd_01 += w * S_0 * D_1
        sd_10 += w * S_1 * D_0
        sd_11 += w * S_1 * D_1
    mean[0], mean[1], mean[2], mean[3] = s_0 / total, s_1 / total, d_0 / total, d_1 / total
    second[0, 0], second[0, 1], second[1, 1] = ss_00 / total, ss_01 / total, ss_11 / total
    second[2, 2], second[2, 3], second[3, 3] = dd_00 / total, dd_01 / total, dd_11 / total
    second[0, 2], second[0, 3], second[1, 2], second[1, 3] = sd_00 / total, sd_01 / total, sd_10 / total, sd_11 / total
    return total, imbalance


@njit
def _to_tokens(pair, products, mean, second):
    """Moments of h - omega into mean (4,) and second (4, 4), row before token, from those of the orthonormal pair of tokens."""
    root = math.sqrt(0.5)
    for p in range(2):
        mean[2 * p], mean[2 * p + 1] = root * (pair[p] + pair[2 + p]), root * (pair[p] - pair[2 + p])
        for k in range(2):
            ss, dd = products[min(p, k), max(p, k)], products[2 + min(p, k), 2 + max(p, k)]
            sd, ds = products[p, 2 + k], products[k, 2 + p]
            second[2 * p, 2 * k] = 0.5 * (ss + sd + ds + dd)
            second[2 * p, 2 * k + 1] = 0.5 * (ss - sd + ds - dd)
            second[2 * p + 1, 2 * k] = 0.5 * (ss + sd - ds - dd)
            second[2 * p + 1, 2 * k + 1] = 0.5 * (ss - sd - ds + dd)


@njit
def _moments(x, omega, law, resolution, mean, second):
    """Moments of one output into mean (4,) and second (4, 4).

    Returns the logarithm of the integral over phi, and whether the sums over even and odd nodes agree.
    """
    root = math.sqrt(0.5)
    sigma, delta = root * (omega[:, 0] + omega[:, 1]), root * (omega[:, 0] - omega[:, 1])
    output = Output(root * (x[0] + x[1]), root * (x[0] - x[1]), sigma, delta)
    first, halvings = _first_blocks(x, omega, law.smallest, resolution)
    kept, bounds = np.empty(MOST, np.int64), np.empty(MOST)
    count, top = _blocks(first, halvings, output, law, kept, bounds)
    if count < 0:
        mean[:] = 0.0
        second[:] = np.kron(law.V, np.eye(2))
        return -np.inf, False
    step = 2.0 * math.pi / (first * 2.0**halvings * BLOCK)
    cosine, sine, pair, products = np.empty(count * BLOCK), np.empty(count * BLOCK), np.empty(4), np.empty((4, 4))
    _directions(kept[:count], step, cosine, sine)
    total, imbalance = _sums(cosine, sine, output, law, top, pair, products)
    _to_tokens(pair, products, mean, second)
    return top + math.log(total * step), abs(imbalance) <= MAX_IMBALANCE * total


@njit(parallel=True)
def rotation_moments(x, omega, V, resolution, log_z, mean, second, resolved):
    """Posterior moments of n outputs, P = 2 rows and M = 2 tokens.

    Parameters
    ----------
    x : array (n, 2)
        x_1 and x_2 in h_a = x_a e + z, z across e, as `links.attention.rank` observes them.
    omega : array (n, 2, 2)
        Prior means (sample, row, token).
    V : array (2, 2)
        Prior covariance over rows, positive definite.
    resolution : float
        Nodes per narrowest width, relative to PER_WIDTH.
    log_z : array (n,)
        Out: log Z_out, in the density of (a, b), see `links.attention.rank`.
    mean : array (n, 4)
        Out: E[h - omega | y], rows before tokens.
    second : array (n, 4, 4)
        Out: E[(h - omega)(h - omega)^T | y].
    resolved : bool array (n,)
        Out: whether the sums over even and odd nodes agree.
    """
    determinant = V[0, 0] * V[1, 1] - V[0, 1] * V[1, 0]
    P = np.empty((2, 2))
    P[0, 0], P[1, 1] = V[1, 1] / determinant, V[0, 0] / determinant
    P[0, 1] = P[1, 0] = -V[0, 1] / determinant
    half = 0.5 * (V[0, 0] - V[1, 1])
    largest = 0.5 * (V[0, 0] + V[1, 1]) + math.sqrt(half * half + V[0, 1] * V[0, 1])
    law = Law(V, P, determinant / largest, largest)
    for i in prange(len(x)):
        log_integral, resolved[i] = _moments(x[i], omega[i], law, resolution, mean[i], second[i])
        s = abs(x[i, 0] - x[i, 1])
        log_z[i] = log_integral - math.log(2.0 * s) - 1.5 * math.log(2.0 * math.pi) - 0.5 * math.log(2.0 * determinant)
