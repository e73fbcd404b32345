"""Hardmax of two tokens: the output is the signs s_1 of h_11 - h_12 and s_2 of h_22 - h_12.

u = (h_11 - h_12, h_22 - h_12) has mean m = (omega_11 - omega_12, omega_22 - omega_12) and covariance V [[3, 1], [1, 3]]. With
kappa_i = s_i m_i / sqrt(3 V) and r = s_1 s_2 / 3, the output has probability Phi_2(kappa_1, kappa_2; r) and

    g_1 = d log Phi_2 / d m_1 = s_1 phi(kappa_1) Phi((kappa_2 - r kappa_1) / sqrt(1 - r^2)) / (Phi_2 sqrt(3 V)),    g_2 alike,
    G = [[g_1, -(g_1 + g_2)/2], [-(g_1 + g_2)/2, g_2]],    4 sum G^2 = 2 (3 g_1^2 + 3 g_2^2 + 2 g_1 g_2)

(derived for this project; Boncoraglio et al. 2025, arXiv:2506.01582, state the model). The published code has phi_2(kappa_1,
kappa_2; r) for both numerators: not the gradient of the probability, and so not the Bayes-optimal estimate.
"""

import functools

import numpy as np
from scipy.interpolate import BarycentricInterpolator
from scipy.special import log_ndtr, ndtr

# Means further out than this many standard deviations are moved there: their outputs have probabilities below 1e-88.
FURTHEST = 20.0
# Gauss-Legendre on [0, 1] for the bivariate normal distribution: relative error below 1e-12 up to `FURTHEST`.
_X, _W = np.polynomial.legendre.leggauss(20)
_X, _W = 0.5 * (_X + 1.0), 0.5 * _W
# The table of the information in log(1 + q/V): its upper end, and its number of Chebyshev points; beyond it a power law holds.
_LARGEST, _POINTS = np.log(1e8), 48
# Step of the trapezoidal rule in the logarithm of the fields: relative error about 1e-11.
_STEP = 0.2
# Samples at a time, so that the work space stays in the cache.
_CHUNK = 2048

# The integral of phi(k)^2 / (Phi(k) Phi(-k)) over all k: the information of one sign is J times the density at zero.
SIGN_INTEGRAL = 1.80639457114


def bivariate_normal(a, b, r):
    """Phi_2(a, b; r), the probability of x < a, y < b for standard normal x, y of correlation r, |r| < 1; arrays of one shape.

    By Gauss-Legendre of Phi_2 = phi(l) int_0^inf exp(l u - u^2/2) Phi((k - r l + r u) / sqrt(1 - r^2)) du, l < k, over the
    range that matters at l < 0: positive, and accurate relative to itself in the joint tail.
    """
    low, high = np.minimum(a, b), np.maximum(a, b)
    # At l > 0 the complements are in the tail, and the result of order one.
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    c = 1.0 / np.sqrt(1.0 - r * r)
    base, slope = (high - r * low) * c, r * c
    rate = -low - slope * np.exp(-0.5 * base**2 - log_ndtr(base)) / np.sqrt(2.0 * np.pi)
    reach = 64.0 / (rate + np.sqrt(rate**2 + 64.0))
    u = reach[..., None] * _X
    integrand = np.exp((low[..., None] - 0.5 * u) * u) * ndtr(base[..., None] + np.asarray(slope)[..., None] * u)
    tail = _normal(low) * reach * (integrand @ _W)
    return np.where(flip, 1.0 - ndtr(low) - ndtr(high) + tail, tail)


def _normal(x):
    return np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)


def _slopes(a, b, r):
    """Phi_2 and its derivatives by a and b."""
    c = 1.0 / np.sqrt(1.0 - r * r)
    return bivariate_normal(a, b, r), _normal(a) * ndtr((b - r * a) * c), _normal(b) * ndtr((a - r * b) * c)


def gradient(observed: np.ndarray, omega: np.ndarray, V: float) -> tuple[np.ndarray, float]:
    """G (n, 2, 2), given the positions `observed` (n, 2) of the largest entries, omega (n, 2, 2) and V > 0; and the mean over
    samples of sum G^2.

    The mean is over the four possible outputs of each omega. The mean over the outputs themselves has the same expectation, but
    where V is too small, contradicted outputs make it too large, and V smaller still.
    """
    G, total, width = np.empty(omega.shape), 0.0, np.sqrt(3.0 * V)
    for first in range(0, len(omega), _CHUNK):
        part = slice(first, first + _CHUNK)
        w = omega[part]
        s1, s2 = np.where(observed[part, 0] == 0, 1.0, -1.0), np.where(observed[part, 1] == 1, 1.0, -1.0)
        a = np.clip(s1 * (w[:, 0, 0] - w[:, 0, 1]) / width, -FURTHEST, FURTHEST)
        b = np.clip(s2 * (w[:, 1, 1] - w[:, 0, 1]) / width, -FURTHEST, FURTHEST)
        r = s1 * s2 / 3.0
        probability, by_a, by_b = _slopes(a, b, r)
        g1, g2 = s1 * by_a / (probability * width), s2 * by_b / (probability * width)
        G[part, 0, 0], G[part, 1, 1] = g1, g2
        G[part, 0, 1] = G[part, 1, 0] = -0.5 * (g1 + g2)
        total += _expected_squares(a, b, r, probability, by_a, by_b) / (2.0 * width**2)
    return G, total / len(omega)


def _expected_squares(a, b, r, probability, by_a, by_b):
    """Sum over samples of the mean over outputs of 3 g_1^2 + 3 g_2^2 + 2 g_1 g_2, in units of 1 / (3 V).

    With either sign reversed the output has the complement's probability, and the slopes add up to those of one normal.
    """
    first, second = ndtr(a), ndtr(b)
    # Reversing the sign of b: Phi(a) - Phi_2, whose slopes by a and by the reversed b are phi(a) - by_a and by_b; and so on.
    other_a, other_b = _normal(a) - by_a, _normal(b) - by_b
    outputs = (
        (probability, by_a, by_b, r),
        (first - probability, other_a, by_b, -r),
        (second - probability, by_a, other_b, -r),
        (1.0 - first - second + probability, other_a, other_b, r),
    )
    total = 0.0
    for chance, x, y, correlation in outputs:
        # Rarer outputs do not count, and their differences have lost their digits.
        safe = np.where(chance > 1e-12, chance, np.inf)
        total += np.sum((3.0 * x * x + 3.0 * y * y + 6.0 * correlation * x * y) / safe)
    return total


def information(ratio, published: bool = False):
    """F = V E[4 sum G^2] at q/V = `ratio` (...), an interpolation of `information_integral` of relative error below 1e-9.

    `published` takes the published code's G.
    """
    x = np.log1p(np.asarray(ratio, dtype=float))
    inside = np.minimum(x, _LARGEST)
    # A power law beyond the last point: -1/2 for the Bayes-optimal channel, the last slope for the published one.
    table, power = _table(published)
    return np.exp(table(inside) + power * (x - inside))


@functools.cache
def _table(published):
    angles = np.pi * (np.arange(_POINTS) + 0.5) / _POINTS
    points = 0.5 * _LARGEST * (1.0 - np.cos(angles))
    values = np.log([information_integral(np.expm1(x), published) for x in points])
    # The known weights of Chebyshev points: scipy's own are computed in a random order, and so end in other bits each time.
    table = BarycentricInterpolator(points, values, wi=(-1.0) ** np.arange(_POINTS) * np.sin(angles))
    return table, float((table(_LARGEST) - table(_LARGEST - 0.1)) / 0.1) if published else -0.5


def information_integral(ratio: float, published: bool = False) -> float:
    """F = V E[2 (3 g_1^2 + 3 g_2^2 + 2 g_1 g_2)] over outputs and over m of covariance q [[3, 1], [1, 3]], at q/V = ratio.

    Trapezoidal rule in asinh of the standard normal m, on the scale sqrt(V/q) on which the outputs become certain.
    """
    scale = 1.0 / np.sqrt(1.0 + ratio)
    count = int(np.ceil(np.arcsinh(8.6 / scale) / _STEP))
    nodes = _STEP * np.arange(-count, count + 1)
    z, weight = scale * np.sinh(nodes), scale * np.cosh(nodes) * _STEP
    density = _pair_density(z[:, None], z[None, :]) * weight[:, None] * weight[None, :]
    first, second = np.nonzero(density > 1e-18 * density.max())
    total = 0.0
    # The other two outputs are these with m reversed.
    for sign in (1.0, -1.0):
        a, b = np.sqrt(ratio) * z[first], sign * np.sqrt(ratio) * z[second]
        probability, by_a, by_b = _slopes(np.maximum(a, -FURTHEST), np.maximum(b, -FURTHEST), sign / 3.0)
        if published:
            by_a = by_b = _pair_density(a, sign * b)
        squares = (3.0 * by_a**2 + 3.0 * by_b**2 + 2.0 * sign * by_a * by_b) / probability
        total += np.sum(density[first, second] * squares)
    return 4.0 / 3.0 * total


def _pair_density(x, y):
    """Density of two standard normals of correlation 1/3."""
    return np.exp(-9.0 / 16.0 * (x * x - 2.0 / 3.0 * x * y + y * y)) * 3.0 / (4.0 * np.sqrt(2.0) * np.pi)
