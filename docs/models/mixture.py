"""Two clusters: x = label signal w / sqrt(D) + z. The label is the output, or hidden."""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.links.link import Link


@dataclass(frozen=True)
class Clusters(Link):
    signal: float = 1.0

    rows, tokens, sign_symmetry, noise_dimension = 1, 1, "rows", 1

    def spikes(self, noise):  # the mean of the token along the weights
        return self.signal * np.sign(noise)[:, :, None]

    def forward(self, h):
        return 0.0 * h[..., 0, 0]

    def log_likelihood(self, observed, h):  # of the token, over that of a standard normal one
        return np.log(np.cosh(self.signal * h[..., 0, 0])) - 0.5 * self.signal**2

    def moments(self, observed, omega, V):  # exact: the posterior of the label is a tanh
        mean, variance, s = omega[:, 0, 0], V[0, 0], self.signal
        label = np.tanh(s * mean)
        log_z = np.log(np.cosh(s * mean)) + 0.5 * s**2 * (variance - 1.0)
        spread = variance + (variance * s) ** 2 * (1.0 - label**2)
        return log_z, (variance * s * label)[:, None, None], spread[:, None, None, None, None]


@dataclass(frozen=True)
class Labelled(Clusters):
    sign_symmetry = "none"

    def observe(self, h, noise):
        return np.sign(noise[:, 0])

    def log_likelihood(self, observed, h):
        return self.signal * observed[:, None] * h[..., 0, 0] - 0.5 * self.signal**2 - np.log(2.0)

    def moments(self, observed, omega, V):
        mean, variance, s = omega[:, 0, 0], V[0, 0], self.signal
        log_z = s * observed * mean + 0.5 * s**2 * (variance - 1.0) - np.log(2.0)
        spread = np.full((len(mean), 1, 1, 1, 1), variance)
        return log_z, (variance * s * observed)[:, None, None], spread
