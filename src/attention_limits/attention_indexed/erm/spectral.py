"""Spectral moments of the proximal denoiser of a nuclear norm, f(Y) = (Y - eps)_+ of the eigenvalues of Y = S* + delta Z.

Z belongs to the Gaussian orthogonal ensemble (off-diagonal variance 1/d), S* = W W^T / sqrt(r d), rho = r/d, and mu is the law of
the eigenvalues of Y at D = delta^2, with the transform g (`wishart`). The state evolution of weight decay needs, per d,

    rank = int_eps mu,    A = int_eps (x - eps) mu,    J = int_eps (x - eps)^2 mu = tr f^2,    B = int^eps x^2 mu,
    Theta = int int (f(x) - f(y)) / (x - y) mu mu = 2 int_eps (x - eps) Re g mu,    tr f Z = delta Theta,

and the error of f as an estimate of S*, ||f(Y) - S*||^2 / d = eps^2 rank + B + 2 delta^2 Theta - delta^2. It follows from
tr Y^2 = Q + delta^2 and tr f S* = J + eps A - delta^2 Theta. Nothing cancels in it at small delta. Theta is the mean derivative
of f.

Source: Erba, Troiani, Zdeborova, Krzakala 2025, arXiv:2505.17958; derived again in this module.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.erm import spectral_kernels as kernels
from attention_limits.attention_indexed.priors.denoisers import wishart


@dataclass(frozen=True)
class Moments:
    """Moments of f at (delta, eps), arrays of one shape; see the module.

    Attributes
    ----------
    rank, A, J, theta : array
    error : array
        ||f(Y) - S*||^2 / d.
    transform : array
        int_eps Re g mu.
    """

    rank: np.ndarray
    A: np.ndarray
    J: np.ndarray
    theta: np.ndarray
    error: np.ndarray
    transform: np.ndarray


class Law:
    """The law of the eigenvalues of Y at rho = `ratio` and `delta` (n,) > 0.

    `largest` (n,) is the upper end of its support. Raises ValueError if rho or a delta is not positive and finite.
    """

    def __init__(self, ratio: float, delta):
        self.ratio, self.delta = float(ratio), np.asarray(delta, dtype=float)
        self.noise = self.delta**2
        self._low, self._high = wishart.panels(ratio, self.noise)
        self.largest = wishart.spectrum(self._low[..., 0], ratio, self.noise).eigenvalue

    def decay_threshold(self, equations, decay):
        """eps (n,) of lambda = `decay` (n,) at alpha K = `equations` (n,): 2 eps (alpha K - Theta) = lambda (`linear`)."""
        found = np.empty_like(self.delta)
        kernels.thresholds(
            self._low,
            self._high,
            self.ratio,
            self.noise,
            self.largest,
            np.asarray(equations, float),
            np.asarray(decay, float),
            found,
        )
        return found

    def best_threshold(self):
        """eps (n,) of the smallest error: eps rank = 2 delta^2 int_eps Re g mu."""
        return self.decay_threshold(np.full_like(self.delta, -1.0), np.zeros_like(self.delta))

    def moments(self, threshold) -> Moments:
        """All moments at eps = `threshold` (n,) >= 0."""
        threshold = np.asarray(threshold, dtype=float)
        sums = np.empty((len(self.delta), kernels.COUNT))
        kernels.moments(self._low, self._high, self.ratio, self.noise, threshold, sums)
        rank, first, second, response, transform, below = sums.T
        theta = 2.0 * response
        error = threshold**2 * rank + below + (2.0 * theta - 1.0) * self.noise
        return Moments(rank, first, second, theta, error, transform)

    def squared_response(self, threshold: float) -> float:
        """int int ((f(x) - f(y)) / (x - y))^2 mu mu at one eps = `threshold`, of a law of one delta."""
        (x, mass), (y, rest) = (self._side(threshold, above) for above in (True, False))
        # Nodes of an empty interval round to either side of eps.
        quotient = np.clip((x - threshold)[:, None] / np.maximum(x[:, None] - y, 1e-300), 0.0, 1.0)
        return float(mass.sum() ** 2 + 2.0 * mass @ quotient**2 @ rest)

    def _side(self, threshold, above):
        """Eigenvalues and mu dx on one side of eps, of a law of one delta."""
        x, mass, transform = np.empty((3, len(self._low[0]), kernels.NODES))
        for bulk, (low, high) in enumerate(zip(self._low[0], self._high[0], strict=True)):
            middle = kernels.cut(low, high, self.ratio, self.noise[0], threshold)
            ends = (low, middle) if above else (middle, high)
            kernels.side(*ends, self.ratio, self.noise[0], x[bulk], mass[bulk], transform[bulk])
        return x.ravel(), mass.ravel()

    def density(self, threshold: float, count: int):
        """Points above eps = `threshold`, of a law of one delta: x - eps and mu, each (2, `count`), a row for each bulk.

        They are uniform in the angle of log t. A bulk without eigenvalues above eps is NaN.
        """
        shown, angle = np.full((2, 2, count), np.nan), np.linspace(0.0, np.pi, count)
        for bulk, (low, high) in enumerate(zip(self._low[0], self._high[0], strict=True)):
            half = 0.5 * np.log(kernels.cut(low, high, self.ratio, self.noise[0], threshold) / low)
            if half > 1e-9:
                found = wishart.spectrum(low * np.exp(half * (1.0 - np.cos(angle))), self.ratio, self.noise[0])
                shown[:, bulk] = found.eigenvalue - threshold, found.height / np.pi
        return shown[0], shown[1]
