"""The law of S = Q K^T / sqrt(r d), untied attention with queries and keys of one dimension (arXiv:2506.01582)."""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.model.scores import draw_untied
from attention_limits.attention_indexed.priors.denoisers import product, wishart


class Unsymmetric:
    """S without preferred directions: the part of a `Prior` that the law of the singular values does not change.

    `shrink(values, noise)` of a derived class gives the posterior mean xi of each of the singular `values` of Y, and its
    slope.
    """

    symmetric = False
    mean = 0.0
    Q = 1.0

    def denoise(self, matrix, noise):
        """As in `Prior` at D = `noise`: keeps the singular vectors of `matrix` (d_q, d_k)."""
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        xi, slope = self.shrink(values, noise)
        return (left * xi) @ right, product.response(values, xi, slope, matrix.shape)

    def spectrum(self, matrix):
        """The singular values of `matrix` (d_q, d_k), ascending; as many as the shorter side."""
        return np.linalg.svd(matrix, compute_uv=False)[::-1]

    def traces(self, size):
        """0 and 1 at every `size`, per d = sqrt(d_q d_k)."""
        return 0.0, 1.0


@dataclass(frozen=True)
class Product(Unsymmetric):
    """S = Q K^T / sqrt(r d) with rho = r/d = `ratio`: a `Prior` without symmetry."""

    ratio: float

    @property
    def effective_dimension(self) -> float:
        """rho - rho^2 / 2 for rho < 1, else 1/2: half of the 2 r d - r^2 or d^2 parameters per d^2."""
        return float(wishart.effective_dimension(self.ratio))

    def mmse(self, noise):
        """As in `product.mmse` at D = `noise` (...)."""
        return product.mmse(self.ratio, noise)

    def shrink(self, values, noise):
        """As in `product.shrink`, of singular `values` (d,) at D = `noise`."""
        return product.shrink(values, self.ratio, noise)

    def realised(self, size):
        """The law of r/d, r and d of `size`."""
        return Product(size.rank / size.dimension)

    def draw(self, size, generator):
        """S of standard normal Q and K (d, r), d and r of `size`, from the numpy.random.Generator `generator`."""
        return draw_untied(size.dimension, size.rank, generator)
