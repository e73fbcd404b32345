"""The overlap Q and its precision Q_hat: Q = Q_hat (I + Q_hat)^-1, and logarithmic coordinates of Q_hat.

The first equation is that of Troiani et al. 2025 (arXiv:2502.00901), for Gaussian weights.
"""

import numpy as np

# Largest eigenvalue of Q that is integrated.
LARGEST_OVERLAP = 1.0 - 1e-6


def clip_spectrum(matrix, low, high):
    """Symmetric part of a matrix (P, P) with its eigenvalues clipped to [low, high]."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    clipped = (vectors * np.clip(values, low, high)) @ vectors.T
    return 0.5 * (clipped + clipped.T)


def symmetric_root(matrix):
    """Symmetric square root of a positive semi-definite matrix (P, P); rounding errors below zero are clipped."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def overlap_from_precision(q_hat, largest=LARGEST_OVERLAP):
    """Q = Q_hat (I + Q_hat)^-1 for Gaussian weights; q_hat (P, P) positive semi-definite, eigenvalues of Q up to `largest`."""
    values, vectors = np.linalg.eigh(q_hat)
    return clip_spectrum((vectors * (values / (1.0 + values))) @ vectors.T, 0.0, largest)


def to_coordinates(q_hat, seed_overlap, largest=LARGEST_OVERLAP):
    """Logarithms of the diagonal of Q_hat, clipped to [log seed, log 1 / (1 - largest)], and the correlations above the diagonal.

    `q_hat` is (P, P), `seed_overlap` the seed, `largest` the largest overlap; the result has P (P + 1) / 2 entries.
    Growth out of zero, convergence and the approach to exact recovery are all geometric in these coordinates.
    """
    diagonal = np.clip(np.diag(q_hat), seed_overlap, 1.0 / (1.0 - largest))
    upper = np.triu_indices(len(q_hat), 1)
    return np.concatenate([np.log(diagonal), (q_hat / np.sqrt(np.outer(diagonal, diagonal)))[upper]])


def from_coordinates(coordinates, size):
    """Inverse of `to_coordinates`, projected on the positive semi-definite matrices.

    `coordinates` has P (P + 1) / 2 entries and `size` is P; the result is Q_hat (P, P).
    """
    correlation = np.eye(size)
    upper = np.triu_indices(size, 1)
    correlation[upper] = coordinates[size:]
    correlation = clip_spectrum(correlation + np.triu(correlation, 1).T, 0.0, np.inf)
    scale = np.exp(0.5 * coordinates[:size])
    return correlation * np.outer(scale, scale)
