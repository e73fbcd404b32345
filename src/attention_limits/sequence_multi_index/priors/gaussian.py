"""Gaussian weights: standard normal rows, and correlated ones (Troiani et al. 2025, arXiv:2502.00901)."""

import numpy as np

from attention_limits.sequence_multi_index.links.link import SMALLEST_EIGENVALUE, Link
from attention_limits.sequence_multi_index.priors.overlaps import LARGEST_OVERLAP, overlap_from_precision
from attention_limits.sequence_multi_index.priors.prior import Prior, WeightPosterior


class GaussianRows(Prior):
    """Gaussian weights of mean zero; the rows have the covariance C.

    Cov(w | b) = (C^-1 + Lambda)^-1, E[w | b] = Cov(w | b) b and log Z = b^T Cov(w | b) b / 2 - log det(I + C Lambda) / 2.

    Parameters
    ----------
    covariance : array (P, P)
        C, positive definite with unit diagonal.

    Raises
    ------
    ValueError
        If it is not.
    """

    gaussian = True

    def __init__(self, covariance):
        covariance = np.array(covariance, dtype=float)
        if covariance.ndim != 2 or len(set(covariance.shape)) != 1 or not np.array_equal(covariance, covariance.T):
            raise ValueError(f"covariance must be a symmetric matrix, got {covariance.tolist()}")
        if not np.array_equal(np.diag(covariance), np.ones(len(covariance))):
            raise ValueError(f"covariance must have a diagonal of ones, got {np.diag(covariance).tolist()}")
        smallest = np.linalg.eigvalsh(covariance).min(initial=1.0)
        if smallest < SMALLEST_EIGENVALUE:
            raise ValueError(
                f"the smallest eigenvalue of covariance must be ≥ {SMALLEST_EIGENVALUE}, got {smallest:.3g}"
            )
        self.rows = len(covariance)
        super().__init__(np.zeros(self.rows), covariance)
        self.rotations = np.array_equal(covariance, np.eye(self.rows))
        self.sign_symmetry = "rows" if self.rotations else "all"
        self._precision = np.linalg.inv(covariance)

    def posterior(self, b, precision):
        """See `Prior`."""
        covariance = np.linalg.inv(self._precision + precision)
        mean = b @ covariance
        volume = np.linalg.slogdet(np.eye(self.rows) + self.second_moment @ precision)[1]
        return WeightPosterior(
            0.5 * (np.sum(b * mean, axis=1) - volume), mean, np.broadcast_to(covariance, (len(b), *covariance.shape))
        )

    def denoise(self, b, precision, hint=0.0, weight=1.0):
        """See `Prior`; the mean is linear in b."""
        covariance = np.linalg.inv(self._precision + hint * np.eye(self.rows) + precision)
        return weight * covariance @ b, covariance

    def overlap(self, precision, largest=LARGEST_OVERLAP):
        """C - (C^-1 + Lambda)^-1; see `Prior`."""
        found = self.root @ overlap_from_precision(self.root.T @ precision @ self.root, largest) @ self.root.T
        return 0.5 * (found + found.T)

    def confined(self, subspace, precision, largest=LARGEST_OVERLAP):
        """See `Prior`."""
        columns = self.root @ subspace
        return columns @ overlap_from_precision(precision, largest) @ columns.T

    def free_entropy(self, overlap, precision):
        """See `Prior`; the precision is not used."""
        return prior_free_entropy(self.whitened(overlap))

    def draw(self, dimension, generator):
        """See `Prior`."""
        return self.root @ generator.standard_normal((self.rows, dimension))

    def subset(self, rows):
        """See `Prior`."""
        return GaussianRows(self.second_moment[np.ix_(rows, rows)])


def standard_normal(rows: int) -> GaussianRows:
    """P = `rows` independent standard normal weights."""
    return GaussianRows(np.eye(rows))


def as_prior(prior: Prior | None, link: Link) -> Prior:
    """The prior, by default standard normal weights; ValueError if it has not the rows of the link."""
    prior = standard_normal(link.rows) if prior is None else prior
    if prior.rows != link.rows:
        raise ValueError(f"the prior has {prior.rows} rows; allowed: {link.rows}, the rows of {link.name}")
    return prior


def prior_free_entropy(overlap):
    """Prior part of the free entropy, 1/2 (tr Q + log det(I - Q)), of standard normal weights.

    `overlap` is Q (P, P), symmetric, with eigenvalues below one.
    """
    return 0.5 * (np.trace(overlap) + np.linalg.slogdet(np.eye(len(overlap)) - overlap)[1])
