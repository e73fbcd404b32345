"""Gaussian weights of tokens whose dimensions are correlated.

Tokens x = Sigma^(1/2) z, z standard normal, have the covariance Sigma between their D dimensions, tr Sigma / D = 1. Their fields
W x / sqrt(D) are those of independent dimensions z and of the weights v = W Sigma^(1/2). In the eigenbasis of Sigma, of
eigenvalues s_i, Gaussian weights w_i ~ N(0, C) stay independent, v_i ~ N(0, s_i C): the theory of independent dimensions
(Troiani et al. 2025, arXiv:2502.00901) holds with this prior, which knows s_i (derived in this module). With C = R R^T and the
eigenvalues lambda of R^T Lambda R, in the basis of their eigenvectors,

    Cov(v_i | b) = R s_i / (1 + s_i lambda) R^T,   Q = R <s^2 lambda / (1 + s lambda)> R^T,
    Psi_w = <s lambda - log(1 + s lambda)> / 2 summed over lambda,

<...> over the spectrum. The overlap is that of the fields, Q = W_hat Sigma W^T / D. At small Lambda, Q = <s^2> C Lambda C: the
first threshold is that of independent dimensions, times the participation ratio 1 / <s^2>.
"""

import numpy as np

from attention_limits.sequence_multi_index.priors.gaussian import GaussianRows
from attention_limits.sequence_multi_index.priors.overlaps import LARGEST_OVERLAP, clip_spectrum
from attention_limits.sequence_multi_index.priors.prior import WeightPosterior
from attention_limits.sequence_multi_index.priors.spectrum import Spectrum


class CorrelatedDimensions(GaussianRows):
    """The law of v = W Sigma^(1/2) in the eigenbasis of Sigma; dimensions are in the ascending order of the eigenvalues.

    Methods that take or return D dimensions raise ValueError unless D has a whole number of each eigenvalue
    (`Spectrum.of_dimensions`).

    Parameters
    ----------
    covariance : array (P, P)
        C of the rows of W, as for `GaussianRows`.
    spectrum : Spectrum
        The eigenvalues of Sigma.
    """

    isotropic = False

    def __init__(self, covariance, spectrum: Spectrum):
        super().__init__(covariance)
        self.spectrum, self.response = spectrum, spectrum.second_moment

    def check_dimension(self, dimension):
        """See `Prior` for `dimension`."""
        self.spectrum.counts(dimension)

    def _modes(self, precision):
        """Eigenvalues lambda (P,) of R^T Lambda R, not negative, and the columns R U (P, P)."""
        values, vectors = np.linalg.eigh(self.root.T @ precision @ self.root)
        return np.maximum(values, 0.0), self.root @ vectors

    def _gains(self, precision, dimension):
        """s / (1 + s lambda) (D, P) of each dimension, with lambda (P,), s (D,) and the columns R U (P, P)."""
        s = self.spectrum.of_dimensions(dimension)
        values, columns = self._modes(precision)
        return s[:, None] / (1.0 + np.outer(s, values)), values, s, columns

    def posterior(self, b, precision):
        """See `Prior`; `b` has one row for each dimension, at the `precision` (P, P)."""
        gains, values, s, columns = self._gains(precision, len(b))
        along = b @ columns
        logs = 0.5 * np.sum(gains * along**2 - np.log1p(np.outer(s, values)), axis=1)
        covariance = np.einsum("pj,nj,qj->npq", columns, gains, columns)
        return WeightPosterior(logs, (gains * along) @ columns.T, covariance)

    def denoise(self, b, precision, hint=0.0, weight=1.0):
        """See `Prior` for `precision`, `hint` and `weight`; the mean is linear in `b`."""
        gains, _, _, columns = self._gains(precision + hint * np.eye(self.rows), b.shape[1])
        mean = ((b.T @ columns) * gains) @ columns.T
        return weight * mean.T, (columns * gains.mean(axis=0)) @ columns.T

    def overlap(self, precision, largest=LARGEST_OVERLAP):
        """See `Prior` for `precision` and `largest`."""
        values, columns = self._modes(precision)
        return self._average(values, columns, largest)

    def _average(self, values, columns, largest=LARGEST_OVERLAP):
        """The overlap from eigenvalues (k,) of a precision and columns (P, k): <s^2 lambda / (1 + s lambda)>."""
        s, shares = self.spectrum.values, self.spectrum.shares
        known = shares @ (s[:, None] ** 2 * values / (1.0 + np.outer(s, values)))
        found = (columns * np.clip(known, 0.0, largest)) @ columns.T
        return 0.5 * (found + found.T)

    def confined(self, subspace, precision, largest=LARGEST_OVERLAP):
        """See `Prior` for `subspace`, `precision` and `largest`."""
        values, vectors = np.linalg.eigh(clip_spectrum(precision, 0.0, np.inf))
        return self._average(values, self.root @ subspace @ vectors, largest)

    def free_entropy(self, overlap, precision):
        """See `Prior` for `overlap`; an error of the `precision` enters in second order."""
        values, _ = self._modes(precision)
        products = np.outer(self.spectrum.values, values)
        of_weights = 0.5 * float(np.sum(self.spectrum.shares @ (products - np.log1p(products))))
        return of_weights - 0.5 * float(np.sum(overlap * precision))

    def draw(self, dimension, generator):
        """See `Prior` for `dimension` and `generator`."""
        return np.sqrt(self.spectrum.of_dimensions(dimension)) * super().draw(dimension, generator)

    def start(self, overlap, dimension, generator):
        """See `Prior` for `dimension` and `generator`; the noise has the law of the weights and the share `overlap`."""
        return np.sqrt(overlap) * self.draw(dimension, generator)

    def subset(self, rows):
        """See `Prior` for `rows`."""
        return CorrelatedDimensions(self.second_moment[np.ix_(rows, rows)], self.spectrum)
