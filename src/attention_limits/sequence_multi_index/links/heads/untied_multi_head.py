"""Layers of several heads with queries and keys and a softmax each, a sequence multi-index model (Troiani et al. 2025,
arXiv:2502.00901, appendix A.3).

The output is inverted for two tokens (derived in this module); for more tokens the inference needs output noise. Given
everything but the queries of the last head, y minus the attention of the other heads must be w_H times an attention matrix S.
With the keys k that the last layer reads, log(S_11 / S_12) / beta = q_1 (k_1 - k_2) and log(S_22 / S_21) / beta = q_2 (k_2 -
k_1) fix the queries q, with the weight of the change from q to (y_12, y_21),

    |dy / dq| = w_H^2 beta^2 S_11 S_12 S_21 S_22 (k_1 - k_2)^2.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.links.attention.base import AttentionLayers
from attention_limits.sequence_multi_index.links.attention.layers import (
    TWO_TOKENS,
    apply,
    head_weights,
    inverse_of_two,
    require_heads,
    softmax_rows,
)


@dataclass(frozen=True)
class UntiedMultiHead(AttentionLayers):
    """Layers S_l = sum_k w_k softmax_rows(beta (q_lk B_{l-1})^T (k_lk B_{l-1})) of H heads, y = S_L.

    Rows k_1 ... k_H, q_1 ... q_H of the first layer, then those of the second, ...: P = 2 L H. B_l as in `deep`. Key and query
    of a head change their sign together.

    Attributes
    ----------
    skip, beta, depth, tokens
        See `AttentionLayers`.
    heads : int
        H >= 1.
    readout : sequence of float or None
        w_k > 0, one for each head; None is 1 / H each, the mean.
    """

    heads: int = 2
    skip: float = 1.0
    beta: float = 1.0
    depth: int = 1
    tokens: int = 2
    readout: tuple[float, ...] | None = None

    sign_symmetry = "all"

    def __post_init__(self):
        super().__post_init__()
        require_heads("heads", self.heads, self.readout)

    @property
    def weights(self):
        """w (H,)."""
        return head_weights(self.readout, self.heads, 1.0 / self.heads)

    @property
    def rows(self):
        """P = 2 L H."""
        return 2 * self.depth * self.heads

    @property
    def free_rows(self):
        """All but the last queries."""
        return self.rows - 1

    @property
    def no_density(self):
        """Why there is no channel: more than two tokens."""
        return "" if self.tokens == 2 else TWO_TOKENS

    def _heads(self, read):
        """S of each head (..., H, M, M) of the fields (..., 2 H, M) that a layer reads; of those with a query alone."""
        keys, queries = read[..., : self.heads, :], read[..., self.heads :, :]
        keys = keys[..., : queries.shape[-2], :]
        return softmax_rows(self.beta * queries[..., :, :, None] * keys[..., :, None, :])

    def _attention(self, read):
        return np.einsum("k,...kab->...ab", self.weights, self._heads(read))

    def fibre(self, observed, free, angles):
        """The one candidate of the last query; see `Link` and the module."""
        transposed = self._transfer(free)
        inverse, log_det = inverse_of_two(transposed)
        read = np.einsum("nsab,nsrb->nsra", transposed, free[:, :, self.rows - 2 * self.heads :])
        others = np.einsum("k,nskab->nsab", self.weights[:-1], self._heads(read))
        left = (observed[:, None] - others) / self.weights[-1]
        key = read[:, :, self.heads - 1]
        difference = key - key[..., ::-1]
        valid = np.all(left > 0, axis=(-2, -1)) & np.isfinite(log_det) & (difference[..., 0] != 0)
        entries = np.log(np.where(valid[..., None, None], left, 0.5))
        ratios = np.stack([entries[..., 0, 0] - entries[..., 0, 1], entries[..., 1, 1] - entries[..., 1, 0]], axis=-1)
        query = apply(inverse, ratios / (self.beta * np.where(valid[..., None], difference, 1.0)))
        slope = entries.sum(axis=(-2, -1)) + 2.0 * np.log(self.weights[-1] * self.beta)
        slope = slope + 2.0 * np.log(np.abs(np.where(valid, difference[..., 0], 1.0))) + log_det
        return query[:, :, None, None, :], np.where(valid, -slope, -np.inf)[:, :, None]
