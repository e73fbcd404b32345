"""Layers of several heads with untied keys and queries, whose scores add up before the softmax.

Sequence multi-index models of Troiani et al. 2025 (arXiv:2502.00901); the inversion is derived in this module.
With the fields that the last layer reads and its readout weights w, the rows of log y give, for every token a, the M - 1 numbers

    A_ab = log(y_aa / y_ab) / beta = sum_k w_k (k_ka - k_kb) q_ka = (D_a q_a)_b,   b != a.

Given the keys, the queries q_a of a token (a vector over the H heads) are D_a^+ A_a plus any vector orthogonal to the differences
of the weighted keys, with the density |det D_a D_a^T|^(-1/2). This needs H >= M - 1.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.links.attention.base import AttentionLayers
from attention_limits.sequence_multi_index.links.attention.layers import head_weights, require_heads, softmax_rows


@dataclass(frozen=True)
class UntiedHeads(AttentionLayers):
    """Layers S_l = softmax_rows(beta sum_k w_k (q_lk B_{l-1})^T (k_lk B_{l-1})) of H heads, y = S_L.

    Rows k_1 ... k_H, q_1 ... q_H of the first layer, then those of the second, ...: P = 2 L H. B_l as in `deep`.

    Attributes
    ----------
    skip, beta, depth, tokens
        See `AttentionLayers`.
    heads : int
        H >= 1.
    readout : sequence of float or None
        w_k > 0, one for each head; None is 1 each.
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
        return head_weights(self.readout, self.heads)

    @property
    def rows(self):
        """P = 2 L H."""
        return 2 * self.depth * self.heads

    @property
    def free_rows(self):
        """All but the last queries."""
        return self.rows - self.heads

    @property
    def angles(self):
        """A vector over the heads for each token, where the output leaves one free."""
        return self.heads * self.tokens if self.heads >= self.tokens else 0

    @property
    def no_density(self):
        """Why there is no channel: fewer heads than the tokens minus one."""
        return "" if self.heads >= self.tokens - 1 else "the output is inverted for at least M - 1 heads"

    def _attention(self, read):
        keys, queries = read[..., : self.heads, :], read[..., self.heads :, :]
        return softmax_rows(self.beta * np.einsum("k,...ka,...kb->...ab", self.weights, queries, keys))

    def _differences(self, keys):
        """D_a (..., M, M - 1, H) of the keys (..., H, M) as read."""
        others = np.array([[b for b in range(self.tokens) if b != a] for a in range(self.tokens)])
        weighted = np.swapaxes(self.weights[:, None] * keys, -1, -2)
        return weighted[..., :, None, :] - weighted[..., others, :]

    def observe(self, h, noise=None):
        """A (n, M, M - 1), the log-ratios of y, known more exactly than y."""
        read = self._last(h)
        return np.einsum("nabk,nka->nab", self._differences(read[:, : self.heads]), read[:, self.heads :])

    def log_volume(self, h):
        """That of A -> (y_12, y_21) for two tokens; unknown (NaN) for more; see `Link`."""
        return self._volume_of_ratios(h)

    def fibre(self, observed, free, angles):
        """The one candidate of the last queries for each node; see `Link` and the module."""
        n, S = free.shape[:2]
        heads, tokens = self.heads, self.tokens
        transposed = self._transfer(free)
        keys = np.einsum("nsab,nskb->nska", transposed, free[:, :, self.free_rows - heads :])
        D = self._differences(keys)
        gram = np.einsum("nsabk,nsack->nsabc", D, D)
        log_gram, log_determinant = np.linalg.slogdet(gram)[1].sum(axis=2), np.linalg.slogdet(transposed)[1]
        possible = np.isfinite(log_gram) & np.isfinite(log_determinant)
        gram = np.where(possible[:, :, None, None, None], gram, np.eye(tokens - 1))
        transposed = np.where(possible[:, :, None, None], transposed, np.eye(tokens))
        solved = np.linalg.solve(gram, np.broadcast_to(observed[:, None, :, :, None], (n, S, tokens, tokens - 1, 1)))
        read = np.einsum("nsabk,nsab->nsak", D, solved[..., 0])
        queries = np.swapaxes(np.linalg.solve(transposed, read), -1, -2)
        log_weight = -0.5 * log_gram - (tokens - 1) * log_determinant
        if self.angles:
            # The differences from any token span the same space.
            z = np.broadcast_to(angles.reshape(1, -1, heads, tokens), (n, S, heads, tokens))
            along = np.linalg.solve(gram[:, :, 0], np.einsum("nsbk,nska->nsba", D[:, :, 0], z))
            z = z - np.einsum("nsbk,nsba->nska", D[:, :, 0], along)
            queries = queries + z
            free_size = (heads - tokens + 1) * tokens
            log_weight += 0.5 * np.sum(z**2, axis=(2, 3)) + 0.5 * free_size * np.log(2.0 * np.pi)
        return queries[:, :, None], np.where(possible, log_weight, -np.inf)[:, :, None]
