"""Simulated ridge regression of one site of Gaussian sequences on the others, at finite L.

The setting is that of Rende et al. 2024 (arXiv:2304.07235): x ~ N(0, K^-1), K = gamma + W with W from the GOE.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular


@dataclass(frozen=True)
class Instance:
    """One precision matrix K, with the teacher and the noise of its first site.

    Attributes
    ----------
    factor : array (L, L)
        Upper triangular R with R^T R = K.
    teacher : array (L - 1,)
        theta = -K_{-i,i} / K_ii.
    covariance : array (L - 1, L - 1)
        Of the other sites.
    noise : float
        D = 1 / K_ii.
    """

    factor: np.ndarray
    teacher: np.ndarray
    covariance: np.ndarray
    noise: float


def realised_samples(alpha: float, sites: int) -> int:
    """M = max(1, round(alpha (L - 1))) sequences of L = `sites`."""
    return max(1, round(alpha * (sites - 1)))


def draw_instance(gamma: float, sites: int, rng: np.random.Generator) -> Instance | None:
    """K = gamma + W with W from the GOE: off-diagonal variance 1/L, diagonal 2/L; L = `sites`, drawn from the Generator `rng`.

    None when K is not positive definite, which happens for gamma within about L^(-2/3) of 2 (or below).
    """
    noise = rng.standard_normal((sites, sites))
    K = gamma * np.eye(sites) + (noise + noise.T) / np.sqrt(2.0 * sites)
    try:
        factor = cholesky(K)
    except np.linalg.LinAlgError:
        return None
    inverse = solve_triangular(factor, np.eye(sites))
    covariance = inverse @ inverse.T
    return Instance(factor, -K[1:, 0] / K[0, 0], covariance[1:, 1:], 1.0 / K[0, 0])


def draw_sequences(instance: Instance, count: int, rng: np.random.Generator) -> np.ndarray:
    """`count` sequences from N(0, K^-1) of an instance, drawn from the Generator `rng`: array (count, L)."""
    return solve_triangular(instance.factor, rng.standard_normal((len(instance.factor), count))).T


def errors(instance: Instance, sequences, ridges) -> tuple[np.ndarray, np.ndarray]:
    """Generalisation and training error of v = (X^T X + ridge (L - 1))^-1 X^T y for every ridge; 0 is the pseudo-inverse.

    The generalisation error D + (v - theta)^T Sigma (v - theta) is exact given v; the training error is a mean square.

    Parameters
    ----------
    instance : Instance
    sequences : array (M, L)
        From `draw_sequences`; the first site is y, the others are X.
    ridges : sequence of float >= 0

    Returns
    -------
    generalization, training : arrays (ridges,)
    """
    y, X = sequences[:, 0], sequences[:, 1:]
    count, inputs = X.shape
    # The smaller of the two Gram matrices has no spurious zero eigenvalues.
    wide = count < inputs
    values, vectors = np.linalg.eigh(X @ X.T if wide else X.T @ X)
    target = vectors.T @ (y if wide else X.T @ y)
    generalization, training = np.empty(len(ridges)), np.empty(len(ridges))
    for i, ridge in enumerate(ridges):
        solution = vectors @ (target / (values + ridge * inputs))
        v = X.T @ solution if wide else solution
        difference = v - instance.teacher
        generalization[i] = instance.noise + difference @ instance.covariance @ difference
        training[i] = np.mean((y - X @ v) ** 2)
    return generalization, training
