"""Laws of symmetric S: their estimate keeps the eigenvectors and shrinks the eigenvalues.

S = W W^T / sqrt(r d) of Boncoraglio et al. 2025 (arXiv:2506.01582), and its limit of small width.
"""

import math
from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.model.scores import draw_weights
from attention_limits.attention_indexed.priors.denoisers import wishart
from attention_limits.attention_indexed.priors.prior import Prior


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


@dataclass(frozen=True)
class Wishart(Symmetric):
    """S = W W^T / sqrt(r d) with rho = r/d = `ratio`."""

    ratio: float

    @property
    def mean(self) -> float:
        """sqrt(rho)."""
        return math.sqrt(self.ratio)

    @property
    def Q(self) -> float:
        """1 + rho."""
        return 1.0 + self.ratio

    @property
    def effective_dimension(self) -> float:
        """rho - rho^2 / 2 for rho < 1, else 1/2."""
        return float(wishart.effective_dimension(self.ratio))

    def mmse(self, noise):
        """As in `wishart.mmse` at D = `noise` (...)."""
        return wishart.mmse(self.ratio, noise)

    def shrink(self, eigenvalues, noise):
        """As in `wishart.shrink`, of `eigenvalues` (d,) at D = `noise`."""
        return wishart.shrink(eigenvalues, self.ratio, noise)

    def realised(self, size):
        """The Wishart law of r/d, r and d of `size`."""
        return Wishart(size.rank / size.dimension)

    def draw(self, size, generator):
        """S of standard normal weights W (d, r), d and r of `size`, from the numpy.random.Generator `generator`."""
        return draw_weights(size.dimension, size.rank, generator)[1]

    def traces(self, size):
        """sqrt(r / d) and (r + d + 1) / d, from E tr (W W^T)^2 = r d (r + d + 1), d and r of `size`."""
        return math.sqrt(size.rank / size.dimension), (size.rank + size.dimension + 1.0) / size.dimension


@dataclass(frozen=True)
class SmallWidth:
    """The limit rho -> 0 at noise D / rho and n / (d r) samples: the part of a `Prior` that state evolution needs.

    The r eigenvalues 1 / sqrt(rho) of S leave the noise, whose edge is 2 sqrt(D / rho), below D = 1.
    """

    mean = 0.0
    Q = 1.0
    effective_dimension = 1.0

    def mmse(self, noise):
        """1 - max(1 - D, 0)^2 at D = `noise` (...)."""
        t = np.minimum(noise, 1.0)
        return t * (2.0 - t)


def as_prior(prior) -> Prior:
    """The prior itself; a number stands for the Wishart law of this width ratio rho."""
    return Wishart(float(prior)) if isinstance(prior, (int, float)) else prior
