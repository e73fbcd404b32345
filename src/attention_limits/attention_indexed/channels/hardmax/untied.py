"""Hardmax of untied attention: the output y_a is the position of the largest entry of row a. Rows are independent.

With u_b = (omega_y - omega_b) / sqrt(V) for the entries b != y of a row of M, its output has the probability

    P = int phi(x) prod_b Phi(x + u_b) dx,    E[h_b - omega_b | y] = -sqrt(V) <r(x + u_b)>,    r = phi / Phi,

<> the mean over x with the integrand as its density, and E[h_y - omega_y | y] is the sum of the r with the opposite sign. The
integrand is log-concave; the trapezoidal rule about its maximum has an error of rounding.

For M = 2 the output is the sign of a difference of variance 2 V. At k^2 of variance (Q - V) / V,

    information = (2 / V) E_k phi(k)^2 / (Phi(k) Phi(-k)).

For more tokens it is the polynomial f(s) s / V of `many_tokens`, s = sqrt(V / Q), between limits that are integrals: with m
the mean of the largest of M standard normal numbers,

    f(0) = sqrt(2) J M^2 (M - 1) / 2 int phi^2 Phi^(M-2),    f(1) = M^2 m^2 / (M - 1),    int_0^1 f ds = M log M,
    f'(1) = f(1) - 2 M sum_bc (Cov(h_b, h_c | y) - delta_bc)^2.

The integral of f is the entropy of the output: dH/dV = E sum_ab g_ab^2 / 2. Derived for this project.
"""

import functools
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from attention_limits.attention_indexed.channels.hardmax.limits import SIGN_INTEGRAL, Limits, polynomial_limits
from attention_limits.attention_indexed.channels.hardmax.output import HardmaxOutput, gradient_of_means
from attention_limits.attention_indexed.model.score_law import UNSYMMETRIC

# Nodes of x about the maximum of the integrand, whose standard deviation is between 1 / sqrt(M) and 1.
_STEP = 0.3
_NODES = _STEP * np.arange(-25, 29)
# Newton steps to the maximum; from below they never pass it, and the nodes need it to a tenth.
_NEWTON = 10
# Distance of an entry that takes no part: Phi = 1 to rounding.
_FAR = 1e9
# Rows at a time, so that the work space stays small.
_CHUNK = 2048
# Trapezoidal rule in asinh of the normal number k, on the scale on which the output becomes certain.
_SCALED = 0.1 * np.arange(-350, 351)


@dataclass(frozen=True)
class UntiedHardmax(HardmaxOutput):
    """y_a = position of the largest entry of row a; a `protocol.Posterior` of M = `tokens` from 2 to 8."""

    tokens: int
    law = UNSYMMETRIC

    @property
    def ties(self) -> float:
        """The limit f(0) of information sqrt(V Q) at small V."""
        return tie_information(self.tokens)

    def uncertainty(self, V, Q):
        """Bound on the relative error of the information, the same at every V and Q; zero for two tokens."""
        return 0.0 if self.tokens == 2 else _limits(self.tokens).uncertainty

    def information(self, V, Q):
        """E 4 sum_ab G_ab^2 at posterior variance V (...) and prior variance Q."""
        if self.tokens == 2:
            return 2.0 * sign_information(np.asarray((Q - V) / V, dtype=float)) / V
        return _limits(self.tokens).information(V, Q)

    def gradient(self, observed, omega, V):
        """G given the positions `observed` (n, M), omega (n, M, M) and V > 0."""
        posterior = posterior_signs if self.tokens == 2 else posterior_rows
        means = posterior(observed.ravel(), omega.reshape(-1, self.tokens) / np.sqrt(V))[0]
        return gradient_of_means(means.reshape(omega.shape), V)


def posterior_signs(best: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As in `posterior_rows` for `omega` (m, 2) and `best` (m,): r(k) / sqrt(2), k the signed difference over sqrt(2)."""
    sign = 1.0 - 2.0 * best
    k = sign * (omega[:, 0] - omega[:, 1]) / np.sqrt(2.0)
    logs = log_ndtr(k)
    first = sign * _mills(k, logs) / np.sqrt(2.0)
    return np.stack([first, -first], axis=1), logs


def posterior_rows(best: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E[h - omega | y] (m, M) of rows about `omega` (m, M) at V = 1, whose largest entries are at `best` (m,); log P (m,)."""
    means, logs = np.empty_like(omega), np.empty(len(omega))
    for first in range(0, len(omega), _CHUNK):
        part = slice(first, first + _CHUNK)
        rows, y = omega[part], best[part, None]
        u = np.take_along_axis(rows, y, axis=1) - rows
        np.put_along_axis(u, y, _FAR, axis=1)
        x = np.zeros(len(rows))
        for _ in range(_NEWTON):
            at = x[:, None] + u
            r = _mills(at, log_ndtr(at))
            x = x + (r.sum(axis=1) - x) / (1.0 + np.sum(r * (r + at), axis=1))
        x = x[:, None] + _NODES
        at = x[:, :, None] + u[:, None]
        logs_below = log_ndtr(at)
        logarithm = -0.5 * x**2 + logs_below.sum(axis=2)
        largest = logarithm.max(axis=1, keepdims=True)
        weights = np.exp(logarithm - largest)
        total = weights.sum(axis=1)
        mean = np.einsum("mx,mxb->mb", weights, _mills(at, logs_below)) / -total[:, None]
        np.put_along_axis(mean, y, -mean.sum(axis=1, keepdims=True), axis=1)
        means[part], logs[part] = mean, largest[:, 0] + np.log(total * _STEP / np.sqrt(2.0 * np.pi))
    return means, logs


def _mills(x, log_below):
    """phi / Phi at x, where log Phi is `log_below`."""
    return np.exp(-0.5 * x * x - log_below) / np.sqrt(2.0 * np.pi)


def sign_information(ratio: np.ndarray) -> np.ndarray:
    """E phi(k)^2 / (Phi(k) Phi(-k)) of k of variance `ratio` (...)."""
    scale = 1.0 / np.sqrt(1.0 + ratio)[..., None]
    z, weight = scale * np.sinh(_SCALED), scale * np.cosh(_SCALED) * (_SCALED[1] - _SCALED[0])
    k = np.sqrt(ratio)[..., None] * z
    return np.sum(weight * _normal(z) * np.exp(-k * k - log_ndtr(k) - log_ndtr(-k)) / (2.0 * np.pi), axis=-1)


def _normal(x):
    return np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)


_X = 0.05 * np.arange(-200, 201)


def _integral(values):
    return float(np.sum(values) * 0.05)


def tie_information(tokens: int) -> float:
    """f(0) of the module, for M = `tokens`: the information is f(0) / sqrt(V Q) at small V."""
    pair = _integral(_normal(_X) ** 2 * ndtr(_X) ** (tokens - 2))
    return float(np.sqrt(2.0) * SIGN_INTEGRAL * tokens**2 * (tokens - 1) / 2.0 * pair)


def without_samples(tokens: int) -> tuple[float, float]:
    """f(1) and f'(1) of the module, M = `tokens`."""
    M, density = tokens, tokens * _normal(_X) * ndtr(_X) ** (tokens - 1)
    largest, square = _integral(density * _X), _integral(density * _X**2)
    # Below x, the largest, the others have the mean -r and the mean square 1 - x r, r = phi / Phi.
    r = _mills(_X, log_ndtr(_X))
    other, other_square, both = -largest / (M - 1), _integral(density * (1.0 - _X * r)), -_integral(density * _X * r)
    pair = _integral(density * r**2)
    deviations = (
        (1, square - largest**2 - 1.0),
        (M - 1, other_square - other**2 - 1.0),
        (2 * (M - 1), both - largest * other),
        ((M - 1) * (M - 2), pair - other**2),
    )
    information = M * M * largest**2 / (M - 1)
    return information, information - 2.0 * M * sum(count * value**2 for count, value in deviations)


@functools.cache
def _limits(tokens) -> Limits:
    return polynomial_limits(tie_information(tokens), *without_samples(tokens), tokens * np.log(tokens))
