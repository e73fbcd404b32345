"""Vanishing noise delta on an S* (d_q x d_k) of rank r d: the zero singular values of S* become those of a block of noise.

With a = d_q / d, c = d_k / d, a c = 1, the block has (a - r) d x (c - r) d entries of variance delta^2 / d. Its singular values
are delta t, of the law nu of Marchenko and Pastur, and with kappa = eps / delta the moments of `spectral` have the limits

    error / delta^2 = 1 - (a - r)(c - r) + r kappa^2 + int_kappa (t - kappa)^2 nu,
    Theta = 1 - (a - r)(c - r) + int_kappa (t - kappa) t nu,    rank = r + int_kappa nu.

The least error / delta^2 is the statistical dimension of the descent cone of the nuclear norm, per d^2 (Amelunxen, Lotz, McCoy,
Tropp 2014, arXiv:1303.6672): the alpha K above which the estimate without decay is exact. Derived in this module.
"""

import numpy as np

from attention_limits.attention_indexed.erm.semicircle import Limit

_X, _W = np.polynomial.legendre.leggauss(128)
_ANGLE, _STEP = 0.5 * np.pi * (_X + 1.0), 0.5 * np.pi * _W


def top(first: float, second: float) -> float:
    """The largest t of a block of `first` d x `second` d entries."""
    return float(np.sqrt(first) + np.sqrt(second))


def block(first: float, second: float, kappa):
    """int_kappa nu, int_kappa t nu and int_kappa t^2 nu at kappa (...) >= 0, of a block of `first` d x `second` d entries."""
    high, low = top(first, second), abs(float(np.sqrt(first) - np.sqrt(second)))
    start = np.clip(kappa, low, high)
    half = 0.5 * (high - start)[..., None]
    t = start[..., None] + half * (1.0 - np.cos(_ANGLE))
    inside = np.maximum((high**2 - t**2) * (t**2 - low**2), 0.0)
    density = np.sqrt(inside) / (np.pi * np.maximum(t, 1e-300))
    steps = density * half * np.sin(_ANGLE) * _STEP
    return tuple(np.sum(t**power * steps, axis=-1) for power in (0, 1, 2))


def limit(rank: float, first: float, second: float, kappa) -> Limit:
    """The limits at r = `rank`, a = `first`, c = `second` and `kappa` (...) >= 0."""
    kappa = np.asarray(kappa, dtype=float)
    left, right = max(first - rank, 0.0), max(second - rank, 0.0)
    zeroth, one, two = block(left, right, kappa) if left * right else (np.zeros_like(kappa),) * 3
    tangent = 1.0 - left * right
    return Limit(
        tangent + rank * kappa**2 + two - 2.0 * kappa * one + kappa**2 * zeroth,
        tangent + two - kappa * one,
        rank + zeroth,
        rank * kappa - (one - kappa * zeroth),
    )
