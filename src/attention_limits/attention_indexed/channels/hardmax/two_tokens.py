"""Hardmax of two tokens: the output is the signs s_1 of h_11 - h_12 and s_2 of h_22 - h_12.

u = (h_11 - h_12, h_22 - h_12) has mean m = (omega_11 - omega_12, omega_22 - omega_12) and covariance V [[3, 1], [1, 3]]. With
kappa_i = s_i m_i / sqrt(3 V) and r = s_1 s_2 / 3, the output has probability Phi_2(kappa_1, kappa_2; r) and

    g_1 = d log Phi_2 / d m_1 = s_1 phi(kappa_1) Phi((kappa_2 - r kappa_1) / sqrt(1 - r^2)) / (Phi_2 sqrt(3 V)),    g_2 alike,
    G = [[g_1, -(g_1 + g_2)/2], [-(g_1 + g_2)/2, g_2]],    4 sum G^2 = 2 (3 g_1^2 + 3 g_2^2 + 2 g_1 g_2)

(derived for this project; Boncoraglio et al. 2025, arXiv:2506.01582, state the model). The published code has phi_2(kappa_1,
kappa_2; r) for both numerators: not the gradient of the probability, and so not the Bayes-optimal estimate.
"""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Chebyshev

from attention_limits.attention_indexed.channels.hardmax.output import HardmaxOutput
from attention_limits.attention_indexed.channels.hardmax.pair_kernels import (
    BY_A,
    BY_B,
    FURTHEST,
    PAIR_ROWS,
    PROBABILITY,
    gradients,
    pair_slopes,
)
from attention_limits.attention_indexed.channels.protocol import Gradient
from attention_limits.attention_indexed.model.score_law import SYMMETRIC

# The table of the information in log(1 + q/V): its upper end, and its number of Chebyshev points; beyond it a power law holds.
_LARGEST, _POINTS = np.log(1e8), 48
# Step of the trapezoidal rule in the logarithm of the fields: relative error about 1e-11.
_STEP = 0.2


def gradient(observed: np.ndarray, omega: np.ndarray, V: float) -> tuple[np.ndarray, float]:
    """G (n, 2, 2), given the positions `observed` (n, 2) of the largest entries, omega (n, 2, 2) and V > 0; and the mean over
    samples of sum G^2.

    The mean is over the four possible outputs of each omega. The mean over the observed outputs has the same expectation. But
    where V is too small, outputs that contradict omega make it too large, and V becomes smaller still.
    """
    G = np.empty(omega.shape)
    return G, gradients(observed, omega, V, G) / len(omega)


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
    def logarithms(points):
        return np.log([information_integral(np.expm1(x), published) for x in points])

    table = Chebyshev.interpolate(logarithms, _POINTS - 1, (0.0, _LARGEST))
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
        slopes = np.empty((PAIR_ROWS, len(a)))
        pair_slopes(np.maximum(a, -FURTHEST), np.maximum(b, -FURTHEST), sign / 3.0, slopes)
        probability, by_a, by_b = slopes[PROBABILITY], slopes[BY_A], slopes[BY_B]
        if published:
            by_a = by_b = _pair_density(a, sign * b)
        squares = (3.0 * by_a**2 + 3.0 * by_b**2 + 2.0 * sign * by_a * by_b) / probability
        total += np.sum(density[first, second] * squares)
    return 4.0 / 3.0 * total


def _pair_density(x, y):
    """Density of two standard normals of correlation 1/3."""
    return np.exp(-9.0 / 16.0 * (x * x - 2.0 / 3.0 * x * y + y * y)) * 3.0 / (4.0 * np.sqrt(2.0) * np.pi)


@dataclass(frozen=True)
class Hardmax(HardmaxOutput):
    """y_a = position of the largest entry of row a of two tokens, exact: a `Posterior`."""

    tokens = 2

    def information(self, V, Q):
        """E 4 sum_ab G_ab^2 at posterior variance V (...) and prior variance Q."""
        return information((Q - V) / V) / V

    def uncertainty(self, V, Q):
        """Zero, at every V and Q: the information has a relative error below 1e-9."""
        return 0.0

    def gradient(self, observed, omega, V):
        """G given the positions `observed` (n, 2) and omega (n, 2, 2)."""
        return Gradient(*gradient(observed, omega, V))


@dataclass(frozen=True)
class PublishedHardmax:
    """The hardmax of two tokens in the published code (see the module): a `Channel` without posterior mean."""

    tokens = 2
    law = SYMMETRIC
    equations = None
    ties = None
    closed_form = True

    def uncertainty(self, V, Q):
        """Zero, at every V and Q."""
        return 0.0

    def information(self, V, Q):
        """The published code's E 4 sum_ab G_ab^2 at variance V (...) and prior variance Q."""
        return information((Q - V) / V, published=True) / V
