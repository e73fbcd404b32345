"""The probability that two correlated rows of scores have their largest entries at different places.

Both rows have M independent entries, of variance v at the diagonal (2, or 1 where attention is untied) and 1 elsewhere, and
correlation cos(theta) between the rows. With x = a s + b t, y = a s - b t, a = cos(theta/2), b = sin(theta/2), s and t standard
normal,

    P(same) = E [Phi_2(sqrt(v) x, sqrt(v) y)^(M-1)] + (M - 1) E [Phi_2(x / sqrt(v), y / sqrt(v)) Phi_2(x, y)^(M-2)],

Phi_2 the normal distribution of correlation cos(theta). It is a smooth function of s and t at every theta. For M = 2 the rows
differ with the probability theta / pi. Derived for the model of Boncoraglio, Troiani, Erba, Zdeborova 2025 (arXiv:2506.01582).
"""

import functools

import numpy as np
from scipy.special import ndtr, owens_t

# Gauss-Hermite nodes per dimension of the result and of its comparison. Both are even: no node is at zero.
_NODES, _FEWER = 64, 48
# Chebyshev points in theta of (1 - P(same)) / theta, a smooth function.
_POINTS = 24


def hardmax_distance(tokens: int, mixing: np.ndarray, diagonal: float) -> tuple[float, float]:
    """E ||f(h) - f(h')||_F^2 of one-hot outputs of M = `tokens`, and its uncertainty. A = `mixing` is that of `generalization`.

    `diagonal` is the variance v of the entry of the diagonal. An output does not depend on the scale of its row. A row of A that
    vanishes is taken along s, its limit.
    """
    first, second = (row if np.any(row) else np.array([1.0, 0.0]) for row in mixing)
    theta = np.arctan2(abs(first[0] * second[1] - first[1] * second[0]), first @ second)
    chance, uncertainty = different_places(tokens, float(theta), diagonal)
    return 2.0 * tokens * chance, 2.0 * tokens * uncertainty


def different_places(tokens: int, theta: float, diagonal: float) -> tuple[float, float]:
    """1 - P(same) for M = `tokens` >= 2, 0 <= theta <= pi and v = `diagonal`, and its uncertainty."""
    if tokens == 2:
        return theta / np.pi, 0.0
    table, uncertainty = _table(tokens, diagonal)
    return float(theta * table(theta)), float(theta * uncertainty)


@functools.cache
def _table(tokens, diagonal):
    """(1 - P(same)) / theta as a polynomial, and its uncertainty: that of the quadrature, and the last terms."""
    fits = []
    for count in (_NODES, _FEWER):
        # The quadrature at theta = 0, where the places agree, has the same error.
        agreement = _same_place(tokens, 0.0, count, diagonal)

        def slope(theta, agreement=agreement, count=count):
            return np.array([(agreement - _same_place(tokens, angle, count, diagonal)) / angle for angle in theta])

        fits.append(np.polynomial.Chebyshev.interpolate(slope, _POINTS - 1, [0.0, np.pi]))
    first, second = (fit.coef for fit in fits)
    return fits[0], np.sum(np.abs(first - second)) + np.sum(np.abs(first[-4:]))


def _same_place(tokens, theta, count, diagonal):
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    weights = np.outer(weights, weights) / (2.0 * np.pi)
    s, t = nodes[:, None], nodes[None, :]
    first = _both_below(s, t, theta, np.sqrt(diagonal)) ** (tokens - 1)
    other = _both_below(s, t, theta, np.sqrt(1.0 / diagonal)) * _both_below(s, t, theta, 1.0) ** (tokens - 2)
    return float(np.sum(weights * (first + (tokens - 1) * other)))


def _both_below(s, t, theta, scale):
    """Phi_2(scale x, scale y), by the function T of Owen (1956).

    Its arguments are (y - r x) / (x sin(theta)) = (b s - a t) / x and (x - r y) / (y sin(theta)) = (b s + a t) / y, where r =
    cos(theta).
    """
    a, b = np.cos(0.5 * theta), np.sin(0.5 * theta)
    x, y = scale * (a * s + b * t), scale * (a * s - b * t)
    # Either sign of a zero is right; a number close to it keeps the quotients defined.
    x, y = np.where(x == 0.0, 1e-300, x), np.where(y == 0.0, 1e-300, y)
    with np.errstate(over="ignore"):
        tails = owens_t(x, scale * (b * s - a * t) / x) + owens_t(y, scale * (b * s + a * t) / y)
    return 0.5 * (ndtr(x) + ndtr(y) - (x * y < 0.0)) - tails
