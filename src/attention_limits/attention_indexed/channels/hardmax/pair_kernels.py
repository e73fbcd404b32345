"""Probabilities of the outputs of a hardmax of two tokens and their slopes, with the equations of `two_tokens`, on plain arrays.

Derived for this project. Phi_2 is a Gauss-Legendre sum of

    Phi_2 = phi(l) int_0^inf exp(l u - u^2/2) Phi((k - r l + r u) / sqrt(1 - r^2)) du,    l < k,

over the range that matters at l < 0: positive, and accurate relative to itself in the joint tail.
"""

import math

import numpy as np

from attention_limits.numerics.compiled import FAST, njit
from attention_limits.numerics.fast_math import exp, ndtr, normal_tail

# Means further out than this many standard deviations are moved to this distance: their outputs have probabilities below 1e-88.
FURTHEST = 20.0
# Gauss-Legendre on [0, 1]: relative error below 1e-10 up to `FURTHEST` at r = 1/3 and -1/3.
_X, _W = np.polynomial.legendre.leggauss(16)
_X, _W = 0.5 * (_X + 1.0), 0.5 * _W
_ROOT = math.sqrt(2.0 * math.pi)
# A rarer output does not count in the mean over outputs: its difference of probabilities has lost its digits.
_RAREST = 1e-12
# Rows of the result of `pair_slopes`.
PROBABILITY, BY_A, BY_B = range(3)
PAIR_ROWS = 3


@njit(fastmath=FAST, error_model="numpy")
def _density(x):
    """phi(x)."""
    return exp(-0.5 * x * x) / _ROOT


@njit(fastmath=FAST, error_model="numpy")
def _probability(a, b, r, c):
    """Phi_2(a, b; r), c = 1 / sqrt(1 - r^2)."""
    low, high = min(a, b), max(a, b)
    # At l > 0 the complements are in the tail, and the result of order one.
    flip = low > 0.0
    if flip:
        low, high = -high, -low
    base, slope = (high - r * low) * c, r * c
    hazard = 1.0 / (_ROOT * normal_tail(-base)) if base < 0.0 else _density(base) / ndtr(base)
    rate = -low - slope * hazard
    reach = 64.0 / (rate + math.sqrt(rate * rate + 64.0))
    total = 0.0
    for k in range(_X.size):
        u = reach * _X[k]
        total += _W[k] * exp((low - 0.5 * u) * u) * ndtr(base + slope * u)
    tail = _density(low) * reach * total
    return 1.0 - ndtr(low) - ndtr(high) + tail if flip else tail


@njit(fastmath=FAST, error_model="numpy")
def _slopes(a, b, r):
    """Phi_2(a, b; r), d Phi_2 / d a and d Phi_2 / d b."""
    c = 1.0 / math.sqrt(1.0 - r * r)
    return _probability(a, b, r, c), _density(a) * ndtr((b - r * a) * c), _density(b) * ndtr((a - r * b) * c)


@njit(error_model="numpy")
def pair_slopes(a, b, r, out):
    """Phi_2(a, b; r), the probability of x < a, y < b for standard normal x, y of correlation r, and its slopes in a and b.

    Writes them into `out` (PAIR_ROWS, n), for a and b (n,), not below -FURTHEST, and one number r, |r| < 1.
    """
    for k in range(a.size):
        out[PROBABILITY, k], out[BY_A, k], out[BY_B, k] = _slopes(a[k], b[k], r)


@njit(fastmath=FAST, error_model="numpy")
def _share(chance, x, y, r):
    """Contribution of an output to the mean of 3 g_1^2 + 3 g_2^2 + 2 g_1 g_2, in units of 1 / (3 V); x and y are its slopes."""
    return (3.0 * x * x + 3.0 * y * y + 6.0 * r * x * y) / chance if chance > _RAREST else 0.0


@njit(error_model="numpy")
def gradients(observed, omega, V, G):
    """Writes G (n, 2, 2) of the positions `observed` (n, 2) of the largest entries, omega (n, 2, 2) and V > 0.

    Returns the sum over samples of the mean of sum G^2 over the four possible outputs of each omega.
    """
    width, total = math.sqrt(3.0 * V), 0.0
    for m in range(len(omega)):
        s_1 = 1.0 if observed[m, 0] == 0 else -1.0
        s_2 = 1.0 if observed[m, 1] == 1 else -1.0
        a = min(max(s_1 * (omega[m, 0, 0] - omega[m, 0, 1]) / width, -FURTHEST), FURTHEST)
        b = min(max(s_2 * (omega[m, 1, 1] - omega[m, 0, 1]) / width, -FURTHEST), FURTHEST)
        r = s_1 * s_2 / 3.0
        chance, by_a, by_b = _slopes(a, b, r)
        g_1, g_2 = s_1 * by_a / (chance * width), s_2 * by_b / (chance * width)
        G[m, 0, 0], G[m, 1, 1] = g_1, g_2
        G[m, 0, 1] = G[m, 1, 0] = -0.5 * (g_1 + g_2)
        # With either sign reversed the output has the complement's probability, and the slopes add up to those of one normal.
        first, second = ndtr(a), ndtr(b)
        other_a, other_b = _density(a) - by_a, _density(b) - by_b
        total += _share(chance, by_a, by_b, r)
        total += _share(first - chance, other_a, by_b, -r)
        total += _share(second - chance, by_a, other_b, -r)
        total += _share(1.0 - first - second + chance, other_a, other_b, r)
    return total / (6.0 * V)
