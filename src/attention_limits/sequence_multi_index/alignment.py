"""Overlaps with a teacher when the output leaves signs and rotations of the rows free."""

import numpy as np


def towards_teacher(link, overlap):
    """Overlap of estimate and teacher with the estimate's free signs and rotations chosen towards the teacher.

    `link` declares the signs and rotations, `overlap` is (P, P), and so is the result.
    """
    if link.rotations > 1 and np.all(np.isfinite(overlap)):
        turned = overlap.copy()
        for first in range(0, link.rows, link.rotations):
            rows = slice(first, first + link.rotations)
            left, _, right = np.linalg.svd(overlap[rows, rows])
            # The rotation that makes the block symmetric and positive.
            turned[rows] = right.T @ left.T @ overlap[rows]
        return turned
    if link.sign_symmetry == "rows":
        return np.where(np.diag(overlap) < 0, -1.0, 1.0)[:, None] * overlap
    return -overlap if link.sign_symmetry == "all" and np.trace(overlap) < 0 else overlap
