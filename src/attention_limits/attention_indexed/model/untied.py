"""Untied attention: S = Q K^T / sqrt(r d) of its weights, and the two parts of S that self-attention determines differently.

Queries and keys that read the same tokens are self-attention (the layer of Boncoraglio, Troiani, Erba, Zdeborova 2025,
arXiv:2506.01582, without the tie of its weights).
"""

import math

import numpy as np

PARTS = ("symmetric", "antisymmetric")


def product_matrix(weights):
    """S = Q K^T / sqrt(r d), (..., d, d), of `weights` (2, ..., d, r): Q and K."""
    queries, keys = weights
    return queries @ keys.swapaxes(-1, -2) / math.sqrt(queries.shape[-2] * queries.shape[-1])


def parts(matrices: np.ndarray) -> np.ndarray:
    """The symmetric and the antisymmetric part, (2, ..., d, d), of `matrices` (..., d, d)."""
    transposed = np.swapaxes(matrices, -1, -2)
    return np.stack([matrices + transposed, matrices - transposed]) / 2.0
