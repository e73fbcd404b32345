"""One-bit compressed sensing: the sign of a field, flipped with a probability."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from attention_limits.sequence_multi_index.links.link import Link


@dataclass(frozen=True)
class Flips(Link):
    probability: float = 0.1

    rows, tokens, sign_symmetry, noise_dimension = 1, 1, "none", 1
    output_entropy = property(lambda self: -sum(p * np.log(p) for p in (self.probability, 1 - self.probability)))

    def forward(self, h):
        return np.sign(h[..., 0, 0])

    def observe(self, h, noise):
        return np.sign(h[:, 0, 0]) * np.where(ndtr(noise[:, 0]) < self.probability, -1.0, 1.0)

    def log_likelihood(self, observed, h):
        same = observed[:, None] == np.sign(h[..., 0, 0])
        return np.log(np.where(same, 1 - self.probability, self.probability))
