"""Base class of links made of attention layers with a skip connection.

The layers are those of Troiani et al. 2025 (arXiv:2502.00901): B_0 = I and B_l = B_{l-1} [c I + S_l^T], S_l the attention of the
fields h_l B_{l-1} that layer l reads.
"""

import numpy as np

from attention_limits.sequence_multi_index.links.attention.layers import layer_product
from attention_limits.sequence_multi_index.links.link import Link, require_shape


def require_attention(skip, beta, depth, tokens):
    """Raise ValueError unless skip >= 0, beta > 0, depth >= 1 and tokens >= 2."""
    if not (np.isfinite(skip) and skip >= 0):
        raise ValueError(f"skip must be a finite number >= 0, got {skip!r}")
    if not (np.isfinite(beta) and beta > 0):
        raise ValueError(f"beta must be a finite number > 0, got {beta!r}")
    if depth < 1 or tokens < 2:
        raise ValueError(f"need depth >= 1 and tokens >= 2, got {depth} and {tokens}")


class AttentionLayers(Link):
    """L layers of r = P / L rows each; the output is the attention of the last one, y = S_L.

    Subclasses are frozen dataclasses with these four parameters and perhaps more. They write `_attention`, and `fibre`.

    Attributes
    ----------
    skip : float
        Strength c >= 0 of the residual connection.
    beta : float
        Inverse temperature beta > 0 of the softmax.
    depth, tokens : int
        Number of layers L >= 1 and of tokens M >= 2.

    Raises
    ------
    ValueError
        If a parameter is out of its range.
    """

    skip: float
    beta: float
    depth: int
    tokens: int

    sign_symmetry = "rows"

    def __post_init__(self):
        require_attention(self.skip, self.beta, self.depth, self.tokens)

    def _attention(self, read):
        """S (..., M, M) of the fields (..., r, M) that a layer reads."""
        raise NotImplementedError

    def _transfer(self, free):
        """B_{L-1}^T (n, S, M, M) of the rows before the last layer, the first ones of `free` (n, S, F, M)."""
        width = self.rows // self.depth
        earlier = free[..., : self.rows - width, :].reshape(*free.shape[:2], self.depth - 1, width, self.tokens)
        return layer_product(earlier, self._attention, self.skip)

    def _last(self, h):
        """The fields (..., r, M) that the last layer reads."""
        h = require_shape(h, self.rows, self.tokens)
        layers = h.reshape(*h.shape[:-2], self.depth, self.rows // self.depth, self.tokens)
        transposed = layer_product(layers[..., :-1, :, :], self._attention, self.skip)
        return np.einsum("...ab,...rb->...ra", transposed, layers[..., -1, :, :])

    def forward(self, h):
        """Output y = S_L, array (..., M, M), of fields h (..., P, M)."""
        return self._attention(self._last(h))

    def _volume_of_ratios(self, h):
        """Log-volume (n,) of (a, b) -> (y_12, y_21), a = log(y_11 / y_12) / beta and b = log(y_22 / y_21) / beta, at h (n, P, M).

        dy = beta y_11 y_12 of each, for two tokens; unknown (NaN) for more.
        """
        if self.tokens > 2:
            return np.full(len(h), np.nan)
        return 2.0 * np.log(self.beta) + np.log(self.forward(h)).sum(axis=(-2, -1))
