"""Overlaps with a teacher when the output leaves signs and rotations of the rows free."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from attention_limits.sequence_multi_index.priors.gaussian import as_prior


def towards_teacher(link, overlap, prior=None):
    """Overlap of estimate and teacher; the free signs and rotations of the estimate are those that fit the teacher best.

    `link` declares the signs and rotations, `overlap` is (P, P), and so is the result. `prior` is that of the rows, by default
    standard normal.
    A prior that is not invariant under rotations leaves permutations and signs free, if the link is invariant.
    """
    prior = as_prior(prior, link)
    if not np.all(np.isfinite(overlap)):
        return overlap
    symmetry = prior.symmetry(link)
    if link.rotations > 1 and prior.rotations:
        turned = overlap.copy()
        for first in range(0, link.rows, link.rotations):
            rows = slice(first, first + link.rotations)
            left, _, right = np.linalg.svd(overlap[rows, rows])
            # The rotation that makes the block symmetric and positive.
            turned[rows] = right.T @ left.T @ overlap[rows]
        return turned
    if link.rotations > 1 and symmetry == "rows":
        turned = overlap.copy()
        for first in range(0, link.rows, link.rotations):
            rows = np.arange(first, first + link.rotations)
            _, places = linear_sum_assignment(-np.abs(overlap[np.ix_(rows, rows)]).T)
            turned[rows] = overlap[rows[places]]
        overlap = turned
    if symmetry == "rows":
        return np.where(np.diag(overlap) < 0, -1.0, 1.0)[:, None] * overlap
    return -overlap if symmetry == "all" and np.trace(overlap) < 0 else overlap
