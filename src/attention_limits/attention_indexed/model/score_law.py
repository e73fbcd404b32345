"""The law of the scores of a fresh sequence about their mean, of tied and of untied attention; nothing in this module compiles.

Tied attention has symmetric S and scores x_a^T S x_b. Untied attention has S = Q K^T / sqrt(r d) and scores x_a^T S z_b: the keys
read other tokens z_b than the queries (cross-attention). With z = x the diagonal scores would contain only the symmetric part of
S, and the data would determine this part better than the other one. Derived from the moments of normal tokens.
"""

import math
from dataclasses import dataclass

import numpy as np

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes

# Nodes of one scrambling, and scramblings. The errors of the softmax are means over them.
NODES, SCRAMBLINGS = 2048, 8


@dataclass(frozen=True)
class ScoreLaw:
    """Scores are independent Gaussian numbers of variance V, off the diagonal.

    Attributes
    ----------
    symmetric : bool
        Whether h_ab = h_ba, and keys read the tokens of the queries. If so, the diagonal has the variance 2 V.
    """

    symmetric: bool

    @property
    def diagonal(self) -> float:
        """Variance of an entry of the diagonal in units of V."""
        return 2.0 if self.symmetric else 1.0

    def scores(self, noise: np.ndarray, V: float) -> np.ndarray:
        """Scores (..., M, M) of variance `V` off the diagonal, from independent standard normal numbers `noise` (..., M, M)."""
        if self.symmetric:
            return (noise + np.swapaxes(noise, -1, -2)) * math.sqrt(0.5 * V)
        return noise * math.sqrt(V)


SYMMETRIC, UNSYMMETRIC = ScoreLaw(True), ScoreLaw(False)


def row_nodes(tokens: int, generators, law: ScoreLaw = SYMMETRIC) -> np.ndarray:
    """Nodes (2, M - 1, scramblings, nodes) of s and t, M = `tokens`, one scrambling for each numpy Generator of `generators`.

    A softmax depends on the M - 1 differences of a row to its entry of the diagonal, of covariance delta + v; v = 2 or 1 by the
    `law` of the scores. One token has no such difference.
    """
    others = tokens - 1
    if others == 0:
        return np.empty((2, 0, len(generators), NODES))
    z = [gaussian_nodes(2 * others, NODES, generator, widening=1.0).points for generator in generators]
    z = np.moveaxis(np.reshape(z, (len(z), NODES, 2, others)), (2, 3), (0, 1))
    return z + (np.sqrt(1.0 + law.diagonal * others) - 1.0) / others * z.sum(axis=1, keepdims=True)
