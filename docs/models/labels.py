"""Labels +1 and -1 that do not depend on the tokens."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from attention_limits.sequence_multi_index.links.link import Link


@dataclass(frozen=True)
class Labels(Link):
    """+1 with the probability `share`; the output without noise is the class +1."""

    share: float = 0.5

    rows, tokens, sign_symmetry, noise_dimension, reads_fields = 1, 1, "rows", 1, False

    def forward(self, h):
        return np.ones(h.shape[:-2])

    def observe(self, h, noise):
        return np.where(ndtr(noise[:, 0]) < self.share, 1.0, -1.0)
