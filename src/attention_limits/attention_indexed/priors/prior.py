"""What a law of S offers: `Prior`, to state evolution and message passing.

The laws are in `wishart`, `invariant`, `product` and `rectangular`. Source: Boncoraglio et al. 2025, arXiv:2506.01582.
"""

from typing import Protocol

import numpy as np

from attention_limits.attention_indexed.model.sizes import Sizes


class Prior(Protocol):
    """The law of S, as state evolution and message passing need it: E tr S / d = `mean`, E tr S S^T / d = `Q` = 1 + mean^2.

    `effective_dimension` is nu: mmse(D) -> 2 nu D. S has nu d^2 free parameters if it is `symmetric`, else 2 nu d^2.
    """

    symmetric: bool
    mean: float
    Q: float
    effective_dimension: float

    def mmse(self, noise):
        """Error (1/d) E ||S - E[S | Y]||_F^2 at noise D (...)."""

    def denoise(self, matrix: np.ndarray, noise: float) -> tuple[np.ndarray, float]:
        """E[S | Y] (d, d) of Y = `matrix` (d, d) at D = `noise`, and the mean derivative of this function."""

    def spectrum(self, matrix: np.ndarray) -> np.ndarray:
        """Eigenvalues (d,) of a symmetric `matrix` (d, d), else singular values; ascending."""

    def realised(self, size: Sizes) -> "Prior":
        """The law at the width ratio r/d of `size`, if rho determines it."""

    def draw(self, size: Sizes, generator) -> np.ndarray:
        """S (d, d) of the dimension in `size`, from the numpy `generator`."""

    def traces(self, size: Sizes) -> tuple[float, float]:
        """E tr S / d and E tr S S^T / d of S as `draw` gives it: exact at every dimension in `size`."""
