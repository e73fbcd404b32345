"""The law of S = Q K^T / sqrt(r d) where queries and keys have different dimensions, d_q and d_k, d = sqrt(d_q d_k).

Q and K are independent and standard normal, of r = rho d columns, so that tr S S^T / d -> 1; h_ab = x_a^T S z_b / sqrt(d) has the
variance one, and alpha = n / d^2. The error is ||S - S_hat||_F^2 / d. State evolution and message passing are those of square S
(Boncoraglio, Troiani, Erba, Zdeborova 2025, arXiv:2506.01582) with another denoiser (`denoisers.rectangular`).
"""

import math
from functools import cached_property

import numpy as np
from scipy.interpolate import CubicSpline

from attention_limits.attention_indexed.model.sizes import Sizes, sides
from attention_limits.attention_indexed.priors.denoisers import product
from attention_limits.attention_indexed.priors.denoisers.rectangular import RectangularLaw
from attention_limits.attention_indexed.priors.prior import Prior
from attention_limits.attention_indexed.priors.product import Product

# The table of the error: its ends in D, and its noises by decade.
_FROM, _TO, _PER_DECADE = 1e-5, 1e3, 24


class RectangularProduct:
    """S of rho = r/d = `ratio` and d_k / d_q = `aspect`: a `prior.Prior` without symmetry.

    Raises ValueError if rho or the aspect is not positive and finite, or the aspect is one (`product.Product`).
    """

    symmetric = False
    mean = 0.0
    Q = 1.0

    def __init__(self, ratio: float, aspect: float):
        if not (0 < ratio < math.inf and 0 < aspect < math.inf and aspect != 1):
            raise ValueError(f"need rho > 0 and an aspect d_k / d_q > 0, not one, got {ratio} and {aspect}")
        self.ratio, self.aspect = ratio, aspect
        self.excess = math.sqrt(aspect) + 1.0 / math.sqrt(aspect)

    @property
    def effective_dimension(self) -> float:
        """Half of the parameters per d^2: r (d_q + d_k) - r^2, or d_q d_k where r exceeds a side."""
        side = min(math.sqrt(self.aspect), 1.0 / math.sqrt(self.aspect))
        return 0.5 * (self.excess * self.ratio - self.ratio**2) if self.ratio < side else 0.5

    def mmse(self, noise):
        """The error at D = `noise` (...), from a table: cubic in log D, and its limits beyond."""
        noise = np.asarray(noise, dtype=float)
        error = np.exp(self._table(np.log(np.clip(noise, _FROM, _TO))))
        far = 1.0 - (1.0 - error) * _TO / np.maximum(noise, _TO)
        return np.where(noise > _TO, far, error * np.minimum(noise / _FROM, 1.0))

    @cached_property
    def _table(self):
        noises = np.geomspace(_FROM, _TO, round(_PER_DECADE * math.log10(_TO / _FROM)) + 1)
        return CubicSpline(np.log(noises), np.log([self._law(noise).mmse() for noise in noises]))

    def _law(self, noise):
        return RectangularLaw(self.ratio, self.excess, float(noise))

    def denoise(self, matrix, noise):
        """As in `prior.Prior` at D = `noise`: keeps the singular vectors of `matrix` (d_q, d_k)."""
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        xi, slope = self._law(noise).shrink(values)
        return (left * xi) @ right, product.response(values, xi, slope, matrix.shape)

    def spectrum(self, matrix):
        """The singular values of `matrix` (d_q, d_k), ascending; as many as the shorter side."""
        return np.linalg.svd(matrix, compute_uv=False)[::-1]

    def realised(self, size: Sizes) -> Prior:
        """The law of the whole d_q and d_k nearest to those of the aspect at d of `size`, and of its r."""
        queries, keys = sides(size.dimension, self.aspect)
        ratio = size.rank / math.sqrt(queries * keys)
        # Square S has a law in closed form.
        return Product(ratio) if queries == keys else RectangularProduct(ratio, keys / queries)

    def draw(self, size: Sizes, generator) -> np.ndarray:
        """S (d_q, d_k), r and d of `size`, from the numpy.random.Generator `generator`; `sides` gives d_q and d_k."""
        queries, keys = sides(size.dimension, self.aspect)
        first, second = (generator.standard_normal((side, size.rank)) for side in (queries, keys))
        return first @ second.T / math.sqrt(size.rank * math.sqrt(queries * keys))

    def traces(self, size: Sizes) -> tuple[float, float]:
        """0 and 1 at every `size`, per d = sqrt(d_q d_k)."""
        return 0.0, 1.0
