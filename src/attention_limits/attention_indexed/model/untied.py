"""Untied self-attention: the two parts of S that it determines differently.

Queries and keys that read the same tokens are self-attention (the layer of Boncoraglio, Troiani, Erba, Zdeborova 2025,
arXiv:2506.01582, without the tie of its weights).
"""

import numpy as np

PARTS = ("symmetric", "antisymmetric")


def parts(matrices: np.ndarray) -> np.ndarray:
    """The symmetric and the antisymmetric part, (2, ..., d, d), of `matrices` (..., d, d)."""
    transposed = np.swapaxes(matrices, -1, -2)
    return np.stack([matrices + transposed, matrices - transposed]) / 2.0
