"""Changes of sign of the rows of student and teacher: nodes that are closed under them have no sampling error of odd averages.

The symmetries of the links are those of Troiani et al. 2025 (arXiv:2502.00901).
"""

import itertools

import numpy as np
from scipy.linalg import hadamard

from attention_limits.sequence_multi_index.links.link import Link

# Up to this number of rows of student and teacher all changes are taken; beyond it those of a Hadamard matrix and of its
# negative, where any three rows have all combinations.
ALL_SIGNS = 8


def changes_of_sign(link: Link) -> np.ndarray:
    """Changes of sign (k, 2, P) of the rows of student and teacher that leave the outputs of a link unchanged; k a power of 2."""
    rows = link.rows
    if link.sign_symmetry == "none":
        return np.ones((1, 2, rows))
    if link.sign_symmetry == "all":
        return np.array([[[a] * rows, [b] * rows] for a, b in itertools.product((1.0, -1.0), repeat=2)])
    if 2 * rows <= ALL_SIGNS:
        return np.array(list(itertools.product((1.0, -1.0), repeat=2 * rows))).reshape(-1, 2, rows)
    columns = hadamard(2 ** int(np.ceil(np.log2(2 * rows))))[:, : 2 * rows].astype(float)
    return np.concatenate([columns, -columns]).reshape(-1, 2, rows)
