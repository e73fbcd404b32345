"""Layers of several heads whose readout is a row of weights, estimated as the others: regression of a sequence on a sequence.

Multi-head attention of Troiani et al. 2025 (arXiv:2502.00901, appendix A.3) with values: head k of the last layer has the
attention S_k and the values v_k, fields of a row of W. With B of the layers before it (`attention.deep`; B = I for one layer)
the output of token a is a number,

    y_a = sum_k w_k sum_b (S_k)_ab (v_k B)_b,    or    y_a = sum_b (sum_k w_k S_k)_ab (v B)_b    with one row of values for all.

It is linear in the values (the inversion is derived in this module). With A = (w_1 S_1 B^T ... w_H S_H B^T), M x H M, they are
A^+ y plus any vector z of the null space of A, with the density |det A A^T|^(-1/2); with one row of values they are (sum_k w_k
S_k B^T)^-1 y. So no output noise is needed for any number of tokens and layers.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.links.attention.base import require_attention
from attention_limits.sequence_multi_index.links.attention.layers import (
    head_weights,
    layer_product,
    require_heads,
    softmax_rows,
)
from attention_limits.sequence_multi_index.links.link import Link, require_shape


@dataclass(frozen=True)
class LearnedReadout(Link):
    """y = sum_k w_k S_k (v_k B)^T, S_k = softmax_rows(beta (q_k B)^T (k_k B)), or softmax_rows(beta (h_k B)^T (h_k B)) if tied.

    Rows k_1 ... k_H, q_1 ... q_H (untied) or h_1 ... h_H (tied) of the first layer, then those of the second, ..., then the
    values v_1 ... v_H, or v. A layer before the last one has the attention sum_k w_k S_k. The output is odd in the values: their
    sign is known.

    Attributes
    ----------
    heads, tokens, depth : int
        H >= 1, M >= 2, and the number of layers L >= 1.
    untied : bool
        Queries and keys apart.
    shared : bool
        One row of values for all heads.
    beta : float
        Inverse temperature beta > 0.
    readout : sequence of float or None
        w_k > 0, fixed, one for each head; None is 1 / H each.
    skip : float
        Strength c >= 0 of the residual connection between the layers; one layer has none.

    Raises
    ------
    ValueError
        If a parameter is out of its range.
    """

    heads: int = 2
    tokens: int = 2
    untied: bool = False
    shared: bool = False
    beta: float = 1.0
    readout: tuple[float, ...] | None = None
    depth: int = 1
    skip: float = 1.0

    sign_symmetry = "none"

    def __post_init__(self):
        require_attention(self.skip, self.beta, self.depth, self.tokens)
        require_heads("heads", self.heads, self.readout)

    @property
    def weights(self):
        """w (H,)."""
        return head_weights(self.readout, self.heads, 1.0 / self.heads)

    @property
    def free_rows(self):
        """The rows of the scores."""
        return self.depth * self._width

    @property
    def _width(self):
        """Rows of the scores of a layer."""
        return (2 if self.untied else 1) * self.heads

    @property
    def rows(self):
        """P = (L + 1) H or (2 L + 1) H, or L H + 1 or 2 L H + 1 with one row of values."""
        return self.free_rows + (1 if self.shared else self.heads)

    @property
    def angles(self):
        """z, where there is a null space."""
        return 0 if self.shared or self.heads == 1 else self.heads * self.tokens

    def _heads(self, read):
        """S of each head (..., H, M, M) of the fields (..., width, M) that a layer reads."""
        keys, queries = read[..., : self.heads, :], read[..., self._width - self.heads :, :]
        return softmax_rows(self.beta * queries[..., :, :, None] * keys[..., :, None, :])

    def _sum(self, read):
        return np.einsum("k,...kab->...ab", self.weights, self._heads(read))

    def _mixing(self, h):
        """A (..., M, R M) of the fields of the scores (..., free_rows, M), R the number of rows of values."""
        if self.depth == 1:
            attention = self._heads(h[..., : self.free_rows, :])
        else:
            layers = h[..., : self.free_rows, :].reshape(*h.shape[:-2], self.depth, self._width, self.tokens)
            transposed = layer_product(layers[..., :-1, :, :], self._sum, self.skip)
            read = np.einsum("...ab,...rb->...ra", transposed, layers[..., -1, :, :])
            attention = self._heads(read) @ transposed[..., None, :, :]
        if self.shared:
            return np.einsum("k,...kab->...ab", self.weights, attention)
        weighted = np.moveaxis(self.weights[:, None, None] * attention, -3, -2)
        return weighted.reshape(*weighted.shape[:-2], self.heads * self.tokens)

    def forward(self, h):
        """Output y, array (..., M), of fields h (..., P, M)."""
        h = require_shape(h, self.rows, self.tokens)
        values = h[..., self.free_rows :, :]
        return np.einsum("...ai,...i->...a", self._mixing(h), values.reshape(*values.shape[:-2], -1))

    def fibre(self, observed, free, angles):
        """The one candidate of the values for each node; see `Link` and the module."""
        A = self._mixing(free)
        gram = np.einsum("nsai,nsbi->nsab", A, A)
        log_gram = np.linalg.slogdet(gram)[1]
        regular = np.isfinite(log_gram)
        gram = np.where(regular[..., None, None], gram, np.eye(self.tokens))
        log_weight = -0.5 * log_gram

        def of_outputs(y):
            """A^T (A A^T)^-1 y of outputs (n, S, M)."""
            return np.einsum("nsai,nsa->nsi", A, np.linalg.solve(gram, y[..., None])[..., 0])

        values = of_outputs(np.broadcast_to(observed[:, None], (*A.shape[:2], self.tokens)))
        if self.angles:
            z = angles - of_outputs(np.einsum("nsai,si->nsa", A, angles))
            values = values + z
            log_weight = log_weight + 0.5 * np.sum(z**2, axis=2)
            log_weight += 0.5 * (self.heads - 1) * self.tokens * np.log(2.0 * np.pi)
        shape = (*values.shape[:2], 1, self.rows - self.free_rows, self.tokens)
        return values.reshape(shape), np.where(regular, log_weight, -np.inf)[..., None]
