"""The law of S = Q K^T / sqrt(r d), untied attention with queries and keys of one dimension (arXiv:2506.01582)."""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.model.scores import draw_untied
from attention_limits.attention_indexed.priors.denoisers import product, wishart


@dataclass(frozen=True)
class Product:
    """S = Q K^T / sqrt(r d) with rho = r/d = `ratio`: a `Prior` without symmetry."""

    ratio: float
    symmetric = False
    mean = 0.0
    Q = 1.0

    @property
    def effective_dimension(self) -> float:
        """rho - rho^2 / 2 for rho < 1, else 1/2: half of the 2 r d - r^2 or d^2 parameters per d^2."""
        return float(wishart.effective_dimension(self.ratio))

    def mmse(self, noise):
        """As in `product.mmse` at D = `noise` (...)."""
        return product.mmse(self.ratio, noise)

    def denoise(self, matrix, noise):
        """As in `Prior` at D = `noise`: keeps the singular vectors of `matrix` (d, d)."""
        left, values, right = np.linalg.svd(matrix)
        xi, slope = product.shrink(values, self.ratio, noise)
        return (left * xi) @ right, product.response(values, xi, slope, matrix.shape)

    def spectrum(self, matrix):
        """The singular values (d,) of `matrix` (d, d), ascending."""
        return np.linalg.svd(matrix, compute_uv=False)[::-1]

    def realised(self, size):
        """The law of r/d, r and d of `size`."""
        return Product(size.rank / size.dimension)

    def draw(self, size, generator):
        """S of standard normal Q and K (d, r), d and r of `size`, from the numpy.random.Generator `generator`."""
        return draw_untied(size.dimension, size.rank, generator)

    def traces(self, size):
        """0 and 1 at every `size`."""
        return 0.0, 1.0
