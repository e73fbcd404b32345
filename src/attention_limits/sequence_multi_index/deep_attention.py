"""Deep attention with rank-one layers: the map from the local fields h to the output y.

Troiani et al. 2025 (arXiv:2502.00901). With B_0 = I, S_l = softmax_rows(beta (h_l B_{l-1})^T (h_l B_{l-1})) and
B_l = B_{l-1} [c I + S_l^T], the output is y = S_L. Row a of S_l is the attention of token a, so that token a of the next
layer is x_{l,a} = c x_{l-1,a} + sum_b (S_l)_{ab} x_{l-1,b}.
"""

from dataclasses import dataclass

import numpy as np


def softmax_rows(scores):
    """Softmax over the last axis of an array (..., M, M)."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class DeepAttention:
    """A stack of tied softmax attention layers of rank one.

    Attributes
    ----------
    skip : float
        Strength c >= 0 of the residual connection.
    beta : float
        Inverse temperature beta > 0 of the softmax.
    layers, tokens : int
        Number of layers L and of tokens M.
    """

    skip: float
    beta: float = 1.0
    layers: int = 2
    tokens: int = 2

    def __post_init__(self):
        if not (np.isfinite(self.skip) and self.skip >= 0):
            raise ValueError(f"skip must be a finite number >= 0, got {self.skip!r}")
        if not (np.isfinite(self.beta) and self.beta > 0):
            raise ValueError(f"beta must be a finite number > 0, got {self.beta!r}")
        if self.layers < 1 or self.tokens < 2:
            raise ValueError(f"need layers >= 1 and tokens >= 2, got {self.layers} and {self.tokens}")

    def preactivation(self, h):
        """Scores' root u = h_L B_{L-1} of the last layer: y = softmax_rows(beta u u^T).

        Parameters
        ----------
        h : array (..., L, M)
            Local fields h = W x / sqrt(D), one row per layer.

        Returns
        -------
        array (..., M)
        """
        h = np.asarray(h, dtype=float)
        if h.shape[-2:] != (self.layers, self.tokens):
            raise ValueError(f"h must end in (layers, tokens) = {(self.layers, self.tokens)}, got shape {h.shape}")
        fields = h.copy()
        for layer in range(self.layers - 1):
            attention = self.attention(fields[..., layer, :])
            # z B with B = cI + S^T: every later layer reads the tokens that this layer wrote.
            deeper = fields[..., layer + 1 :, :]
            fields[..., layer + 1 :, :] = self.skip * deeper + np.einsum("...ab,...lb->...la", attention, deeper)
        return fields[..., -1, :]

    def attention(self, u):
        """Attention matrix softmax_rows(beta u u^T), array (..., M, M), of the score roots u (..., M)."""
        return softmax_rows(self.beta * u[..., :, None] * u[..., None, :])

    def forward(self, h):
        """Output y = softmax_rows(beta u u^T), array (..., M, M), of the local fields h (..., L, M)."""
        return self.attention(self.preactivation(h))

    def invert(self, y):
        """Score root u (..., M), up to one global sign, of an output y (..., M, M).

        The row differences of the log-softmax give beta u_a (u_a - u_b) = log y_aa - log y_ab; with u_a - u_b known up to a
        common sign this is linear in u. The pair of largest |u_a - u_b| fixes the sign, chosen here as u_a > u_b.

        Raises
        ------
        ValueError
            If an entry of y is not positive (the softmax has underflowed), or y is not such an attention matrix.
        """
        y = np.asarray(y, dtype=float)
        if y.shape[-2:] != (self.tokens, self.tokens):
            raise ValueError(f"y must end in (tokens, tokens) = {(self.tokens, self.tokens)}, got shape {y.shape}")
        if not np.all(y > 0):
            raise ValueError("every entry of y must be positive: an attention weight has underflowed to zero")
        log_y = np.log(y)
        products = (np.diagonal(log_y, axis1=-2, axis2=-1)[..., :, None] - log_y) / self.beta  # u_a (u_a - u_b)
        squares = products + np.swapaxes(products, -1, -2)  # (u_a - u_b)^2
        if np.any(squares < -1e-9):
            raise ValueError("y is not the output of a rank-one softmax attention: a squared difference is negative")
        flat = squares.reshape(*squares.shape[:-2], -1)
        first, second = np.unravel_index(flat.argmax(axis=-1), (self.tokens, self.tokens))
        difference = np.sqrt(np.maximum(flat.max(axis=-1), 0.0))

        def pick(a, b):
            rows = np.take_along_axis(products, np.asarray(a)[..., None, None], axis=-2)[..., 0, :]
            return np.take_along_axis(rows, np.asarray(b)[..., None], axis=-1)[..., 0]

        with np.errstate(divide="ignore", invalid="ignore"):
            u_first = pick(first, second) / difference
            # log y_ab - log y_aa = beta u_a (u_b - u_a) along the row of the larger of the two pivots
            u_second = -pick(second, first) / difference
        use_first = np.abs(u_first) >= np.abs(u_second)
        pivot = np.where(use_first, u_first, u_second)
        row = np.where(use_first, first, second)
        rows = np.take_along_axis(products, row[..., None, None], axis=-2)[..., 0, :]
        return pivot[..., None] - rows / pivot[..., None]
