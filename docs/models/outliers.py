"""Linear regression with outliers: a share of the outputs has a noise of larger variance."""

from dataclasses import dataclass

import numba
import numpy as np
from scipy.special import ndtr

from attention_limits.sequence_multi_index.links.link import Link


@dataclass(frozen=True)
class Outliers(Link):
    share: float = 0.3
    inlier: float = 1.0
    outlier: float = 5.0

    rows, tokens, sign_symmetry, noise_dimension = 1, 1, "none", 2

    def forward(self, h):
        return h[..., 0, 0]

    def observe(self, h, noise):
        variance = np.where(ndtr(noise[:, 1]) < self.share, self.outlier, self.inlier)
        return h[:, 0, 0] + np.sqrt(variance) * noise[:, 0]

    def log_likelihood(self, observed, h):
        rest = observed[:, None] - h[..., 0, 0]
        parts = [(1.0 - self.share, self.inlier), (self.share, self.outlier)]
        terms = [np.log(p) - 0.5 * rest**2 / v - 0.5 * np.log(2 * np.pi * v) for p, v in parts]
        return np.logaddexp(*terms)


@numba.njit
def huber(y, z, gradient, hessian):
    """The square loss for differences below one, linear above."""
    difference = z[0] - y[0]
    inside = abs(difference) < 1.0
    gradient[0] = difference if inside else np.sign(difference)
    hessian[0, 0] = 1.0 if inside else 0.0
    return 0.5 * difference**2 if inside else abs(difference) - 0.5
