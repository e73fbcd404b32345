"""Single-location regression: y = value of the token whose key has the mean `spike`, plus noise."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from attention_limits.sequence_multi_index.links.link import Link


@dataclass(frozen=True)
class SingleLocation(Link):
    """Row 1 reads keys, row 2 values; the place of the token is hidden."""

    tokens: int = 3
    spike: float = 2.0
    variance: float = 0.1

    rows, sign_symmetry, noise_dimension = 2, "none", 2

    def place(self, noise):
        return np.minimum((self.tokens * ndtr(noise[:, 0])).astype(int), self.tokens - 1)

    def spikes(self, noise):
        found = np.zeros((len(noise), 2, self.tokens))
        found[np.arange(len(noise)), 0, self.place(noise)] = self.spike
        return found

    def forward(self, h):
        return 0.0 * h[..., 1, 0]

    def observe(self, h, noise):
        return h[np.arange(len(h)), 1, self.place(noise)] + np.sqrt(self.variance) * noise[:, 1]

    def log_likelihood(self, observed, h):
        rest = observed[:, None, None] - h[..., 1, :]
        each = self.spike * h[..., 0, :] - 0.5 * self.spike**2 - 0.5 * rest**2 / self.variance
        return np.logaddexp.reduce(each, axis=-1) - np.log(self.tokens) - 0.5 * np.log(2 * np.pi * self.variance)

    def moments(self, observed, omega, V):  # exact: a sum over the places, each with normal fields
        n, M, s = len(observed), self.tokens, self.spike
        key, value = V[:, 0], V[:, 1]
        total = V[1, 1] + self.variance
        rest = observed[:, None] - omega[:, 1] - s * V[0, 1]
        log_z = s * omega[:, 0] + 0.5 * s**2 * (V[0, 0] - 1.0) - 0.5 * rest**2 / total - 0.5 * np.log(2 * np.pi * total)
        whole = np.logaddexp.reduce(log_z, axis=1)
        place = np.exp(log_z - whole[:, None])
        moved = s * key + rest[:, :, None] / total * value  # (n, M, 2), of the token at the place
        mean = np.einsum("na,nap->npa", place, moved)
        narrow = np.outer(value, value) / total
        square = np.einsum("na,nap,naq->npqa", place, moved, moved) - np.einsum("na,pq->npqa", place, narrow)
        covariance = np.zeros((n, 2, M, 2, M))
        for a in range(M):
            covariance[:, :, a, :, a] = V + square[..., a]
        return whole - np.log(M), mean, covariance - np.einsum("npa,nqb->npaqb", mean, mean)
