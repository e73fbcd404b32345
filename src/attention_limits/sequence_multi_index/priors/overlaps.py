"""The overlap Q and its precision Q_hat: Q = Q_hat (I + Q_hat)^-1, and the matrix logarithm of Q_hat.

The first equation is that of Troiani et al. 2025 (arXiv:2502.00901), for Gaussian weights.
"""

import numpy as np

# Largest eigenvalue of Q that is integrated.
LARGEST_OVERLAP = 1.0 - 1e-6
# Relative rounding error of an eigenvalue of Q_hat at its seed.
SEED_ROUNDING = 1e-6


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
    """The matrix logarithm of Q_hat: its diagonal, then its entries above the diagonal, array (P (P + 1) / 2,).

    `q_hat` is (P, P); its eigenvalues are clipped to [`seed_overlap`, 1 / (1 - `largest`)]. Growth out of zero, convergence and
    the approach to exact recovery are geometric in these coordinates, for every eigenvector of Q_hat. (A seed on the diagonal of
    Q_hat is not enough: with a correlation of one or minus one between two rows an eigenvalue would stay at zero.)
    """
    values, vectors = np.linalg.eigh(0.5 * (q_hat + q_hat.T))
    logarithm = (vectors * np.log(np.clip(values, seed_overlap, 1.0 / (1.0 - largest)))) @ vectors.T
    return np.concatenate([np.diag(logarithm), logarithm[np.triu_indices(len(q_hat), 1)]])


def _spectrum(coordinates, size):
    """Logarithms of the eigenvalues of Q_hat, array (P,), and its eigenvectors (P, P); `size` is P."""
    logarithm = np.diag(coordinates[:size])
    upper = np.triu_indices(size, 1)
    logarithm[upper] = coordinates[size:]
    return np.linalg.eigh(logarithm + np.triu(logarithm, 1).T)


def log_eigenvalues(coordinates, size):
    """Logarithms of the eigenvalues of Q_hat, in ascending order, array (P,).

    `coordinates` are those of `to_coordinates` and `size` is P.
    """
    return _spectrum(coordinates, size)[0]


def from_coordinates(coordinates, size, seed_overlap=0.0):
    """Inverse of `to_coordinates`: Q_hat (P, P), positive; `coordinates` has P (P + 1) / 2 entries, and `size` is P.

    Eigenvalues that do not exceed `seed_overlap` are returned as zero.
    """
    logs, vectors = _spectrum(coordinates, size)
    values = np.exp(logs)
    return (vectors * np.where(values > seed_overlap * (1.0 + SEED_ROUNDING), values, 0.0)) @ vectors.T


def unlearned_directions(coordinates, size, seed_overlap):
    """Eigenvectors of Q_hat whose eigenvalue does not exceed `seed_overlap`, orthonormal columns (P, k).

    `coordinates` are those of `to_coordinates` and `size` is P.
    """
    logs, vectors = _spectrum(coordinates, size)
    return vectors[:, np.exp(logs) <= seed_overlap * (1.0 + SEED_ROUNDING)]


def symmetrized(symmetry: str, matrix):
    """Average of a matrix (P, P) over a symmetry (`Channel.symmetry`): diagonal for "rows", q I for "rotations"."""
    if symmetry == "rotations":
        return np.trace(matrix) / len(matrix) * np.eye(len(matrix))
    return np.diag(np.diag(matrix)) if symmetry == "rows" else matrix
