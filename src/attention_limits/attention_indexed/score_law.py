"""The law of the scores of a fresh sequence about their mean: of symmetric S, and of S without symmetry; nothing here compiles."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ScoreLaw:
    """Scores are independent Gaussian numbers of variance V, off the diagonal.

    Attributes
    ----------
    symmetric : bool
        Whether h_ab = h_ba. If so, S and its transpose add up in h_aa, and the diagonal has the variance 2 V.
    """

    symmetric: bool

    @property
    def diagonal(self) -> float:
        """Variance of an entry of the diagonal in units of V."""
        return 2.0 if self.symmetric else 1.0

    def scores(self, noise: np.ndarray, V: float) -> np.ndarray:
        """Scores (..., T, T) of this law from independent standard normal numbers `noise` (..., T, T)."""
        if self.symmetric:
            return (noise + np.swapaxes(noise, -1, -2)) * math.sqrt(0.5 * V)
        return noise * math.sqrt(V)


SYMMETRIC, UNSYMMETRIC = ScoreLaw(True), ScoreLaw(False)
