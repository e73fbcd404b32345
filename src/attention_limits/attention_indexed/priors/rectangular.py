"""The law of S = Q K^T / sqrt(r d) where queries and keys have different dimensions, d_q and d_k, d = sqrt(d_q d_k).

Q and K are independent and standard normal, of r = rho d columns, so that tr S S^T / d -> 1; h_ab = x_a^T S z_b / sqrt(d) has the
variance one, and alpha = n / d^2. The error is ||S - S_hat||_F^2 / d. State evolution and message passing are those of square S
(Boncoraglio, Troiani, Erba, Zdeborova 2025, arXiv:2506.01582) with another denoiser (`denoisers.rectangular`).
"""

import math

import numpy as np

from attention_limits.attention_indexed.model.sizes import Sizes, sides
from attention_limits.attention_indexed.priors.denoisers.rectangular import RectangularLaw
from attention_limits.attention_indexed.priors.prior import Prior
from attention_limits.attention_indexed.priors.product import Product, Unsymmetric
from attention_limits.attention_indexed.priors.tabulated import Tabulated

# Width ratios, and aspects or their inverses, of laws whose error is right to 1e-5 (tests). They hold those of the keys, and of
# the whole numbers nearest to them. Nearer to a square, rounding finds ends of the support that are none: at an aspect of 1.005,
# a ratio of 20 and D = 1000 the error is wrong by 7e-4.
RATIOS, ASPECTS = (0.005, 20.0), (1.01, 10_000.0)


class RectangularProduct(Tabulated, Unsymmetric):
    """S of rho = r/d = `ratio` and d_k / d_q = `aspect`: a `prior.Prior` without symmetry.

    Raises ValueError if rho is outside of `RATIOS`, or the aspect and its inverse are outside of `ASPECTS`. Square S, of aspect
    one, is `product.Product`.
    """

    per_decade = 24

    def __init__(self, ratio: float, aspect: float):
        (least, most), (low, high) = RATIOS, ASPECTS
        if not (least <= ratio <= most and 0 < aspect < math.inf and low <= max(aspect, 1.0 / aspect) <= high):
            raise ValueError(
                f"need rho from {least:g} to {most:g} and an aspect d_k / d_q, or its inverse, from {low:g} to {high:g}, "
                f"got {ratio} and {aspect}"
            )
        self.ratio, self.aspect = ratio, aspect
        self.excess = math.sqrt(aspect) + 1.0 / math.sqrt(aspect)

    @property
    def effective_dimension(self) -> float:
        """Half of the parameters per d^2: r (d_q + d_k) - r^2, or d_q d_k where r exceeds a side."""
        side = min(math.sqrt(self.aspect), 1.0 / math.sqrt(self.aspect))
        return 0.5 * (self.excess * self.ratio - self.ratio**2) if self.ratio < side else 0.5

    def exact_mmse(self, noise: float) -> float:
        """The error at one D = `noise` > 0."""
        return self._law(noise).mmse()

    def shrink(self, values, noise):
        """xi of singular `values` (n,) at D = `noise`, and its slope."""
        return self._law(noise).shrink(values)

    def _law(self, noise):
        return RectangularLaw(self.ratio, self.excess, float(noise))

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
