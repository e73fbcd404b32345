"""What all laws of symmetric S share: their estimate keeps the eigenvectors and shrinks the eigenvalues (arXiv:2506.01582)."""

import numpy as np

from attention_limits.attention_indexed.priors.denoisers import wishart


class Symmetric:
    """Symmetric S with Haar eigenvectors: the part of a `Prior` that the law of the eigenvalues does not change.

    `shrink(eigenvalues, noise)` of a derived class gives the posterior mean xi of each of the `eigenvalues` (d,) of Y, and its
    slope.
    """

    symmetric = True

    def denoise(self, matrix, noise):
        """As in `Prior` at D = `noise`: keeps the eigenvectors of `matrix` (d, d)."""
        eigenvalues, vectors = np.linalg.eigh(matrix)
        xi, slope = self.shrink(eigenvalues, noise)
        return (vectors * xi) @ vectors.T, wishart.response(eigenvalues, xi, slope)

    def spectrum(self, matrix):
        """The eigenvalues (d,) of `matrix` (d, d), ascending."""
        return np.linalg.eigvalsh(matrix)
