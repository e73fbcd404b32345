"""Hardmax of several tokens: exact posterior means, and the information between exact limits.

With s = sqrt(V/Q), the information per sample is f(s) s / V, f a smooth function. Four of its numbers are known:

    f(0) = 2 J sum over ties of sigma p:    at many samples only outputs near a tie are informative; p is the density of the
        tie, two entries of a row equal and the others below, sigma the standard deviation of their difference, both at Q = 1;
    f(1) = E 4 sum_ab G_ab^2 and f'(1) = f(1) - 2 dE/dq,    without data, at V = Q = 1: sums over all outputs;
    int_0^1 f ds = 2 H(y),    H the entropy of the output without data.

The integral is the heat equation of P(y|omega): dH(y|omega)/dV = E sum_ab G_ab^2. dE/dq at omega = 0 is the mean square of the
slopes of the gradient, since the gradient is a martingale as the data come in. The cubic through the four is the information;
without f'(1) it is a quadratic, and twice their largest difference is the error. For two tokens, where the information is known,
the cubic is wrong by 1.45 times that difference. Derived for the model of Boncoraglio et al. 2025 (arXiv:2506.01582).
"""

import functools
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

from attention_limits.attention_indexed.gradient import Gradient
from attention_limits.attention_indexed.hardmax import SIGN_INTEGRAL
from attention_limits.attention_indexed.hardmax_kernels import posteriors
from attention_limits.attention_indexed.hardmax_outputs import outputs
from attention_limits.attention_indexed.hardmax_rows import hardmax_distance
from attention_limits.attention_indexed.model import attention
from attention_limits.attention_indexed.score_law import SYMMETRIC

# Step of the central difference of the gradient: relative error of f'(1) about 1e-4.
_STEP = 0.02


@dataclass(frozen=True)
class ManyHardmax:
    """y_a = position of the largest entry of row a; a `channel.Posterior` of T = `tokens` from 2 to 8."""

    tokens: int
    equations = None
    scale_free = shift_free = True
    closed_form = True
    law = SYMMETRIC

    @property
    def ties(self) -> float:
        """The limit of information sqrt(V Q) at small V."""
        return tie_information(self.tokens)

    def uncertainty(self, V, Q):
        """Bound on the relative error of the information, the same at every V and Q."""
        return _limits(self.tokens).uncertainty

    def information(self, V, Q):
        """E 4 sum_ab G_ab^2 at posterior variance V (...) and prior variance Q."""
        s = np.sqrt(V / Q)
        return _limits(self.tokens).cubic(s) * s / V

    def output(self, h):
        """One-hot rows of scores h (n, T, T)."""
        return attention(h, np.inf)

    def distance(self, mixing, nodes):
        """As in `channel.Posterior`, by quadrature in two dimensions; M = `mixing` (2, 2). `nodes` are not used."""
        return hardmax_distance(self.tokens, mixing, self.law.diagonal)

    def observe(self, h, generator=None):
        """The positions (n, T) of the largest entries of the rows of scores h (n, T, T); `generator` is not used."""
        return np.argmax(h, axis=2)

    def gradient(self, observed, omega, V):
        """G given the positions `observed` (n, T), omega (n, T, T) and V > 0."""
        means = np.empty(omega.shape)
        posteriors(observed, omega / np.sqrt(V), means, np.empty(len(omega)))
        G = means / (2.0 * np.sqrt(V))
        return Gradient(G, float(np.sum(G**2) / len(G)))

    def variance(self, observed, omega):
        """None: positions, `observed` (n, T), have no distance to omega (n, T, T)."""
        return None


@dataclass(frozen=True)
class Limits:
    """f(s) as `cubic`, a polynomial, and the bound `uncertainty` on its relative error."""

    cubic: np.polynomial.Polynomial
    uncertainty: float


@functools.cache
def _limits(tokens):
    without_data, slope, entropy = without_samples(tokens)
    return polynomial_limits(tie_information(tokens), without_data, slope, 2.0 * entropy)


def polynomial_limits(at_ties: float, without_data: float, slope: float, integral: float) -> Limits:
    """The cubic of f(0) = `at_ties`, f(1) = `without_data`, f'(1) = `slope` and int_0^1 f ds = `integral`, with its bound."""
    powers = np.arange(1, 4)
    # f(s) - f(0) = b_1 s + b_2 s^2 + b_3 s^3: its value at 1, its integral, and its slope at 1.
    matrix = np.array([np.ones(3), 1.0 / (powers + 1.0), powers])
    wanted = np.array([without_data - at_ties, integral - at_ties, slope])
    cubic = np.polynomial.Polynomial([at_ties, *np.linalg.solve(matrix, wanted)])
    quadratic = np.polynomial.Polynomial([at_ties, *np.linalg.solve(matrix[:2, :2], wanted[:2])])
    s = np.linspace(0.0, 1.0, 201)
    return Limits(cubic, float(2.0 * np.max(np.abs(quadratic(s) / cubic(s) - 1.0))))


def tie_information(tokens: int) -> float:
    """f(0) of the module, for T = `tokens`: the information is f(0) / sqrt(V Q) at small V."""

    def density(first, second, others):
        """Of two entries of these standard deviations equal, and the entries `others` (standard deviations) below."""

        def at(x):
            pair = np.exp(-0.5 * x * x * (first**-2 + second**-2)) / (2.0 * np.pi * first * second)
            return pair * np.prod(ndtr(x / np.array(others)))

        return quad(at, -12.0, 12.0, epsabs=1e-13, limit=200)[0]

    diagonal = np.sqrt(2.0)
    ties = (tokens - 1) * np.sqrt(3.0) * density(diagonal, 1.0, [1.0] * (tokens - 2))
    if tokens > 2:
        ties += (tokens - 1) * (tokens - 2) / 2 * np.sqrt(2.0) * density(1.0, 1.0, [diagonal] + [1.0] * (tokens - 3))
    return float(2.0 * SIGN_INTEGRAL * tokens * ties)


def without_samples(tokens: int) -> tuple[float, float, float]:
    """f(1), f'(1) and the entropy of the output without data, T = `tokens`.

    With g_e = d log P / d omega_e by the independent entries e, of variance v_e V: E 4 sum_ab G_ab^2 = 2 E sum_e v_e g_e^2, and
    its slope in q is 2 E sum_ee' v_e v_e' (d g_e / d omega_e')^2.
    """
    best, number = outputs(tokens)
    omega, means = np.zeros((len(best), tokens, tokens)), np.empty((len(best), tokens, tokens))
    probability = np.empty(len(best))
    posteriors(best, omega, means, probability)
    weight = number * probability
    information = float(weight @ np.sum(means**2, axis=(1, 2)))
    slope, plus, minus, unused = 0.0, np.empty_like(means), np.empty_like(means), np.empty(len(best))
    for a in range(tokens):
        for b in range(a, tokens):
            omega[:, a, b] = omega[:, b, a] = _STEP
            posteriors(best, omega, plus, unused)
            posteriors(best, -omega, minus, unused)
            omega[:, a, b] = omega[:, b, a] = 0.0
            variance = 2.0 if a == b else 1.0
            slope += variance * float(weight @ np.sum(((plus - minus) / (2.0 * _STEP)) ** 2, axis=(1, 2)))
    return information, information - 2.0 * slope, float(-weight @ np.log(probability))
