"""Posterior moments of one attention layer of rank two that reads two tokens, by a trapezoid rule over one angle.

The output fixes (x_1, x_2) in h_a = x_a e + w f (`links.rank_attention`), e = (cos phi, sin phi), f = (-sin phi, cos phi). The
angle phi and the number w are free. The model is that of Troiani et al. 2025 (arXiv:2502.00901), the method derived in this
module. With P = V^-1 and d_a = x_a e - omega_a the integral over w is Gaussian of precision t = 2 f^T P f and mean m = -f^T P
(d_1 + d_2) / t:

    Z = 1 / (2 s) (2 pi)^(-3/2) det P int dphi t^(-1/2) exp(-1/2 sum_a d_a^T P d_a + t m^2 / 2),   s = |x_1 - x_2|.

The integrand is analytic and periodic: the trapezoid rule converges geometrically once its step resolves the narrowest width.
"""

import math

import numpy as np
from numba import prange

from attention_limits.numerics.compiled import njit
from attention_limits.sequence_multi_index.trapezoid_lattice_kernels import MAX_IMBALANCE

# Nodes per narrowest width at resolution 1, the fewest nodes and the most.
PER_WIDTH, FEWEST, MOST = 3.5, 48, 2**16
# Nodes with a log-weight this far below the largest are left out of the moments.
CUTOFF = 40.0


@njit
def _fields(phi, x, omega, P, d):
    """Fills d (2 rows, 2 tokens) with the posterior mean over w of h - omega at phi; returns the log-weight and t."""
    c, s = math.cos(phi), math.sin(phi)
    for a in range(2):
        d[0, a] = x[a] * c - omega[0, a]
        d[1, a] = x[a] * s - omega[1, a]
    pf_0, pf_1 = -P[0, 0] * s + P[0, 1] * c, -P[1, 0] * s + P[1, 1] * c
    t = 2.0 * (-s * pf_0 + c * pf_1)
    m = -(pf_0 * (d[0, 0] + d[0, 1]) + pf_1 * (d[1, 0] + d[1, 1])) / t
    exponent = 0.5 * t * m * m - 0.5 * math.log(t)
    for a in range(2):
        exponent -= 0.5 * (P[0, 0] * d[0, a] ** 2 + 2.0 * P[0, 1] * d[0, a] * d[1, a] + P[1, 1] * d[1, a] ** 2)
        d[0, a] -= m * s
        d[1, a] += m * c
    return exponent, t


@njit
def _node_count(x, omega, largest, resolution):
    """Number of nodes of one output, even; `largest` is the largest eigenvalue of P."""
    length = 0.0
    for a in range(2):
        length += (abs(x[a]) + math.sqrt(omega[0, a] ** 2 + omega[1, a] ** 2)) * abs(x[a])
    wanted = 2.0 * math.pi * PER_WIDTH * resolution * math.sqrt(largest * length + 1.0)
    return 2 * int(0.5 * min(max(wanted, FEWEST), MOST))


@njit
def _moments(x, omega, P, count, mean, second):
    """Moments of one output on `count` nodes into mean (4,) and second (4, 4).

    Returns the logarithm of the integral over phi, and whether the sums over even and odd nodes agree.
    """
    step = 2.0 * math.pi / count
    d = np.empty((2, 2))
    shift = -np.inf
    for k in range(count):
        shift = max(shift, _fields(k * step, x, omega, P, d)[0])
    total, imbalance = 0.0, 0.0
    first, products = np.zeros(4), np.zeros((4, 4))
    for k in range(count):
        phi = k * step
        exponent, t = _fields(phi, x, omega, P, d)
        if exponent < shift - CUTOFF:
            continue
        weight = math.exp(exponent - shift)
        total += weight
        imbalance += weight if k % 2 == 0 else -weight
        f_0, f_1 = -math.sin(phi), math.cos(phi)
        for p in range(2):
            for a in range(2):
                first[2 * p + a] += weight * d[p, a]
                for q in range(2):
                    spread = (f_0 if p == 0 else f_1) * (f_0 if q == 0 else f_1) / t
                    for b in range(2):
                        products[2 * p + a, 2 * q + b] += weight * (d[p, a] * d[q, b] + spread)
    for r in range(4):
        mean[r] = first[r] / total
        for c in range(4):
            second[r, c] = products[r, c] / total
    return shift + math.log(total * step), abs(imbalance) <= MAX_IMBALANCE * total


@njit(parallel=True)
def rotation_moments(x, omega, V, resolution, log_z, mean, second, resolved):
    """Posterior moments of n outputs, P = 2 rows and M = 2 tokens.

    Parameters
    ----------
    x : array (n, 2)
        x_1 and x_2.
    omega : array (n, 2, 2)
        Prior means (sample, row, token).
    V : array (2, 2)
        Prior covariance over rows, positive definite.
    resolution : float
        Nodes per narrowest width, relative to PER_WIDTH.
    log_z : array (n,)
        Out: log Z_out, in the density of (a, b), see `links.rank_attention`.
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
    half = 0.5 * (P[0, 0] - P[1, 1])
    largest = 0.5 * (P[0, 0] + P[1, 1]) + math.sqrt(half * half + P[0, 1] * P[0, 1])
    for i in prange(len(x)):
        count = _node_count(x[i], omega[i], largest, resolution)
        log_integral, resolved[i] = _moments(x[i], omega[i], P, count, mean[i], second[i])
        s = abs(x[i, 0] - x[i, 1])
        log_z[i] = log_integral - math.log(2.0 * s) - 1.5 * math.log(2.0 * math.pi) - math.log(determinant)
