"""The output of every hardmax: y_a is the position of the largest entry of row a (arXiv:2506.01582)."""

import numpy as np

from attention_limits.attention_indexed.channels.hardmax.distance import hardmax_distance
from attention_limits.attention_indexed.channels.hardmax.limits import tie_information
from attention_limits.attention_indexed.channels.protocol import Gradient
from attention_limits.attention_indexed.model.score_law import SYMMETRIC
from attention_limits.attention_indexed.model.scores import attention


class HardmaxOutput:
    """The part of a `protocol.Posterior` that is the same for every hardmax of M = `tokens`."""

    law = SYMMETRIC
    equations = None
    scale_free = shift_free = True
    closed_form = True

    @property
    def ties(self) -> float:
        """The limit of information sqrt(V Q) at small V."""
        return tie_information(self.tokens)

    def output(self, h):
        """One-hot rows of scores h (n, M, M)."""
        return attention(h, np.inf)

    def distance(self, mixing, nodes):
        """As in `protocol.Posterior`, by `hardmax_distance`; A = `mixing` (2, 2). `nodes` are not used."""
        return hardmax_distance(self.tokens, mixing, self.law.diagonal)

    def observe(self, h, generator=None):
        """The positions (n, M) of the largest entries of the rows of scores h (n, M, M); `generator` is not used."""
        return np.argmax(h, axis=2)

    def variance(self, observed, omega):
        """None: positions, `observed` (n, M), have no distance to omega (n, M, M)."""
        return None


def gradient_of_means(means: np.ndarray, V: float) -> Gradient:
    """The `Gradient` of the posterior `means` E[h - omega | y] / sqrt(V), (n, M, M)."""
    G = means / (2.0 * np.sqrt(V))
    return Gradient(G, float(np.sum(G**2) / len(G)))
