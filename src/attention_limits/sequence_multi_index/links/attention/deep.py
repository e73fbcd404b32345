"""Deep attention with rank-one layers: the map from the local fields h to the output y.

Troiani et al. 2025 (arXiv:2502.00901). With B_0 = I, S_l = sigma(beta (h_l B_{l-1})^T (h_l B_{l-1})), sigma the softmax of
each row or the identity, and B_l = B_{l-1} [c I + S_l^T], the output is y = S_L. Row a of S_l is the attention of token a, so
that token a of the next layer is x_{l,a} = c x_{l-1,a} + sum_b (S_l)_{ab} x_{l-1,b}.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.links.attention.base import AttentionLayers
from attention_limits.sequence_multi_index.links.attention.layers import last_row, log_volume, rank_one
from attention_limits.sequence_multi_index.links.link import TRAPEZOID, TWO_TOKEN_SAMPLING, as_floats

# Most layers of linear attention, a polynomial of degree 2 * 3^(L - 1).
MAX_LINEAR_DEPTH = 3


@dataclass(frozen=True)
class DeepAttention(AttentionLayers):
    """A stack of tied attention layers of rank one, P = L rows.

    The output fixes the score root u = h_L B_{L-1} up to one global sign, and the fibre is h_L = +-B_{L-1}^-T u with the first
    L - 1 layers free and weight 1 / |det B_{L-1}|. It is a density of u: that of y differs by the Jacobian of u -> y, which
    depends on nothing else.

    Attributes
    ----------
    skip, beta, depth, tokens
        See `AttentionLayers`; beta is the scale of linear attention.
    activation : str
        sigma: "softmax" (by rows) or "linear" (the identity); ValueError otherwise.
    """

    skip: float = 1.0
    beta: float = 1.0
    depth: int = 2
    tokens: int = 2
    activation: str = "softmax"

    def __post_init__(self):
        super().__post_init__()
        if self.activation not in ("softmax", "linear"):
            raise ValueError(f"activation must be softmax or linear, got {self.activation!r}")

    @property
    def rows(self):
        """P = L."""
        return self.depth

    @property
    def student(self):
        """Layers of one tied head; see `Link`."""
        return "attention", (self.depth, 1, self.tokens, self.skip, self.beta, 0, self.activation == "softmax", 0)

    @property
    def free_rows(self):
        """All layers but the last."""
        return self.depth - 1

    @property
    def no_density(self):
        """Why the output has no density on the fields u (linear attention without skip has rank one), or an empty text."""
        if self.activation == "linear" and self.skip == 0 and self.depth > 1:
            return "linear attention without skip connection (skip: 0) writes the same token direction everywhere"
        return ""

    @property
    def no_moments(self):
        """Why no number of nodes reaches the moments of the output (many layers of linear attention), or an empty text."""
        if self.activation == "linear" and self.depth > MAX_LINEAR_DEPTH:
            degree = 2 * 3 ** (self.depth - 1)
            reason = f"the output is a polynomial of degree {degree}, whose moments no number of nodes reaches"
            return f"depth {self.depth}: allowed with linear attention: at most {MAX_LINEAR_DEPTH}; {reason}"
        return ""

    @property
    def posterior_methods(self):
        """Two softmax layers reading two tokens: the trapezoid rule; more layers: sampling over two tokens; see `Link`."""
        general = super().posterior_methods
        if self.depth == 1 or (self.tokens, self.activation) != (2, "softmax"):
            return general
        sampling = (TWO_TOKEN_SAMPLING, *general)
        return (TRAPEZOID, *sampling) if self.depth == 2 else sampling

    def preactivation(self, h):
        """Score root u = h_L B_{L-1} of the last layer: y = sigma(beta u u^T).

        Parameters
        ----------
        h : array (..., L, M)
            Local fields h = W x / sqrt(D), one row per layer.

        Returns
        -------
        array (..., M)

        Raises
        ------
        ValueError
            If h does not end in (L, M).
        """
        h = as_floats(h)
        if h.shape[-2:] != (self.depth, self.tokens):
            raise ValueError(f"h must end in (depth, tokens) = {(self.depth, self.tokens)}, got shape {h.shape}")
        fields = h.copy()
        for layer in range(self.depth - 1):
            attention = self.attention(fields[..., layer, :])
            # z B with B = cI + S^T: every later layer reads the tokens that this layer wrote.
            deeper = fields[..., layer + 1 :, :]
            fields[..., layer + 1 :, :] = self.skip * deeper + np.einsum("...ab,...lb->...la", attention, deeper)
        return fields[..., -1, :]

    def attention(self, u):
        """Attention matrix sigma(beta u u^T), array (..., M, M), of the score roots u (..., M)."""
        return rank_one(self.beta, u) if self.activation == "softmax" else self.beta * u[..., :, None] * u[..., None, :]

    def _attention(self, read):
        return self.attention(read[..., 0, :])

    def forward(self, h):
        """Output y = sigma(beta u u^T), array (..., M, M), of the local fields h (..., L, M)."""
        return self.attention(self.preactivation(h))

    def observe(self, h, noise=None):
        """The score root u (n, M) of the output, known up to sign: y itself loses digits where the softmax saturates."""
        return self.preactivation(h)

    def log_volume(self, h):
        """Log-volume of u -> y, in the entries off the diagonal (softmax) or on and above it (linear); see `Link`."""
        u = self.preactivation(h)
        if self.activation == "softmax":
            return log_volume(u, self.attention(u), self.beta)
        identity = np.eye(self.tokens)
        slope = identity[:, None] * u[..., None, :, None] + u[..., :, None, None] * identity
        jacobian = self.beta * slope[..., *np.triu_indices(self.tokens), :]
        return 0.5 * np.linalg.slogdet(np.einsum("...ic,...id->...cd", jacobian, jacobian))[1]

    def fibre(self, observed, free, angles):
        """The two candidates of the last layer; see `Link` and the class."""
        return last_row(self._transfer(free), observed)
