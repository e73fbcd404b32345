"""The size of a score: an output that hides the sign, so that the learning curve turns."""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from attention_limits.attention_indexed.channels.output import OutputChannel


@dataclass(frozen=True)
class Size(OutputChannel):
    """y = |h_12 + shift| + sqrt(spread) Z with its exact posterior: the curve turns, because the sign is hidden at first."""

    shift: float = 0.0
    spread: float = 0.0

    def output(self, h):
        """|h_12 + shift| of scores h (..., M, M)."""
        return np.abs(h[..., 0, 1] + self.shift)

    def draw(self, h, generator):
        """Outputs (n,) of scores h (n, M, M), with noise of variance `spread` from the numpy `generator`."""
        return self.output(h) + np.sqrt(self.spread) * generator.standard_normal(len(h))

    def posterior(self, observed, omega, V):
        """E[h | y] (n, M, M) of outputs `observed` (n,), omega (n, M, M) and V > 0."""
        centre, mean = omega[:, 0, 1] + self.shift, omega.copy()
        if self.spread == 0:
            found = observed * np.tanh(observed * centre / V)
        else:
            # Each sign: a normal size, given y, restricted to be positive.
            total, signs = V + self.spread, np.array([1.0, -1.0])[:, None]
            middle = (signs * centre * self.spread + observed * V) / total
            width = np.sqrt(V * self.spread / total)
            below = log_ndtr(middle / width)
            size = middle + width * np.exp(-0.5 * (middle / width) ** 2 - below) / np.sqrt(2.0 * np.pi)
            weights = below - 0.5 * (observed - signs * centre) ** 2 / total
            weights = np.exp(weights - weights.max(axis=0))
            found = np.sum(signs * size * weights, axis=0) / weights.sum(axis=0)
        mean[:, 0, 1] = mean[:, 1, 0] = found - self.shift
        return mean
