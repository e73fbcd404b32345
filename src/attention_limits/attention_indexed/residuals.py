"""Distances of the outputs of linear channels to their prediction; channels of tied and of untied attention share them.

Derived for the model of Boncoraglio, Troiani, Erba, Zdeborova 2025 (arXiv:2506.01582).
"""

import numpy as np


def centred(observed: np.ndarray, omega: np.ndarray, groups: int = 1) -> np.ndarray:
    """`observed` - `omega`, both (n, T, T), minus its mean over all entries, or over each of `groups` = T rows."""
    residual = observed - omega
    flat = residual.reshape(len(residual) * groups, -1)
    # A product with ones is faster than a mean over a short axis.
    flat -= (flat @ np.full(flat.shape[1], 1.0 / flat.shape[1]))[:, None]
    return residual


def squares(array: np.ndarray) -> float:
    """The sum of the squares of an `array` (...)."""
    flat = array.ravel()
    return float(flat @ flat)
