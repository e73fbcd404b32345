"""The law of the scores of a fresh sequence about their mean, of tied and of untied attention; nothing in this module compiles.

Tied attention has symmetric S and scores x_a^T S x_b. Untied attention has S = Q K^T / sqrt(r d) and scores x_a^T S z_b: the keys
read other tokens z_b than the queries (cross-attention). With z = x the diagonal scores would contain only the symmetric part of
S, and the data would determine this part better than the other one. Derived from the moments of normal tokens.
"""

import math
from dataclasses import dataclass

import numpy as np


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
        """Scores (..., T, T) of variance `V` off the diagonal, from independent standard normal numbers `noise` (..., T, T)."""
        if self.symmetric:
            return (noise + np.swapaxes(noise, -1, -2)) * math.sqrt(0.5 * V)
        return noise * math.sqrt(V)


SYMMETRIC, UNSYMMETRIC = ScoreLaw(True), ScoreLaw(False)
