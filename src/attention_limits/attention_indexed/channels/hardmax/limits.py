"""The information of a hardmax of several tokens, between limits that are known exactly.

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

from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

# The integral of phi(k)^2 / (Phi(k) Phi(-k)) over all k: the information of one sign is J times the density at zero.
SIGN_INTEGRAL = 1.80639457114


@dataclass(frozen=True)
class Limits:
    """f(s) as `cubic`, a polynomial, and the bound `uncertainty` on its relative error."""

    cubic: np.polynomial.Polynomial
    uncertainty: float

    def information(self, V, Q):
        """f(s) s / V at posterior variance V (...) and prior variance Q."""
        s = np.sqrt(V / Q)
        return self.cubic(s) * s / V


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
    """f(0) for M = `tokens`: the information is f(0) / sqrt(V Q) at small V."""

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
