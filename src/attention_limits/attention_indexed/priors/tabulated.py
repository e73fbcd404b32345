"""The error of a law of S without a closed form: a table in log D, and its limits beyond (arXiv:2506.01582)."""

import math
from functools import cached_property

import numpy as np
from scipy.interpolate import CubicSpline

# The ends of the table in D.
_FROM, _TO = 1e-5, 1e3


class Tabulated:
    """The `mmse` of a `Prior` from `exact_mmse(noise)` of a derived class, at `per_decade` noises of each decade."""

    per_decade: int

    def mmse(self, noise):
        """The error at D = `noise` (...), from a table of `exact_mmse`: cubic in log D, and its limits beyond."""
        noise = np.asarray(noise, dtype=float)
        error = np.exp(self._table(np.log(np.clip(noise, _FROM, _TO))))
        # Below the table proportional to D, above it 1 - O(1/D).
        far = 1.0 - (1.0 - error) * _TO / np.maximum(noise, _TO)
        return np.where(noise > _TO, far, error * np.minimum(noise / _FROM, 1.0))

    @cached_property
    def _table(self):
        noises = np.geomspace(_FROM, _TO, round(self.per_decade * math.log10(_TO / _FROM)) + 1)
        return CubicSpline(np.log(noises), np.log([self.exact_mmse(noise) for noise in noises]))
