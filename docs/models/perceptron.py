"""The symmetric perceptron: y = 1 inside of the strip |h| < width, else -1."""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.links.link import Link


@dataclass(frozen=True)
class Symmetric(Link):
    width: float = 0.67449

    rows, tokens, sign_symmetry = 1, 1, "rows"

    def forward(self, h):
        return np.where(np.abs(h[..., 0, 0]) < self.width, 1.0, -1.0)

    def log_likelihood(self, observed, h):
        return np.where(self.forward(h) == observed[:, None], 0.0, -np.inf)
