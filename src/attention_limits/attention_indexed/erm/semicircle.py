"""Vanishing noise delta on S* of rho < 1: the zero eigenvalues of S* become a semicircle of radius 2 delta sqrt(b), b = 1 - rho.

With kappa = eps / delta, c = kappa / sqrt(b), sigma the semicircle on [-2, 2] and r = min(rho, 1) the rank of S*, the moments of
`spectral` have the limits

    error / delta^2 = 1 - b^2 + r kappa^2 + b^2 int_c (s - c)^2 sigma,    Theta = 1 - b^2 + b^2 int_c (s - c) s sigma,
    rank = r + b int_c sigma,

and b = 0 for rho >= 1. The least error / delta^2 is the number of equations K alpha above which the estimate without decay is
exact, the phase transition of trace minimisation over S >= 0: r kappa = b^(3/2) int_c (s - c) sigma at this point. Derived for
this project; Erba, Troiani, Zdeborova, Krzakala 2025, arXiv:2505.17958.
"""

from dataclasses import dataclass

import numpy as np


def tail(c):
    """int_c sigma, int_c s sigma and int_c s^2 sigma of the semicircle on [-2, 2], for c (...) >= 0."""
    angle = np.arccos(0.5 * np.minimum(c, 2.0))
    zeroth = (angle - 0.5 * np.sin(2.0 * angle)) / np.pi
    first = 4.0 * np.sin(angle) ** 3 / (3.0 * np.pi)
    second = (angle - 0.25 * np.sin(4.0 * angle)) / np.pi
    return zeroth, first, second


@dataclass(frozen=True)
class Limit:
    """The limits at kappa (...).

    Attributes
    ----------
    error, theta, rank : array (...)
        error / delta^2, Theta and rank.
    slope : array (...)
        r kappa - b^(3/2) int_c (s - c) sigma, half of d(error / delta^2) / d kappa: zero at the least error.
    """

    error: np.ndarray
    theta: np.ndarray
    rank: np.ndarray
    slope: np.ndarray


def limit(ratio: float, kappa) -> Limit:
    """The limits at rho = `ratio` and `kappa` (...) >= 0."""
    b, r = max(1.0 - ratio, 0.0), min(ratio, 1.0)
    c = kappa / np.sqrt(b) if b else np.full_like(kappa, 2.0)
    zeroth, first, second = tail(c)
    error = 1.0 - b**2 + r * kappa**2 + b**2 * (second - 2.0 * c * first + c**2 * zeroth)
    theta = 1.0 - b**2 + b**2 * (second - c * first)
    return Limit(error, theta, r + b * zeroth, r * kappa - b**1.5 * (first - c * zeroth))
