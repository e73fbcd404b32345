"""Tied attention layers of rank p: scores x_a^T W_l^T W_l x_b of p rows per layer, or the weighted sum of p heads of rank one.

Layers of any rank are part of the model of Troiani et al. 2025 (arXiv:2502.00901); the inversion is derived in this module. With
the fields v = diag(sqrt(w)) u of the last layer as it reads them, w the readout weights, the rows of log y give the Gram matrix
v^T v up to a constant t 1 1^T. So they give the differences of the tokens up to one rotation in O(p), and the components of their
mean along the differences. With r = min(p, M - 1),

    v = E v_0 + z 1^T,   E (p x r) with orthonormal columns,   z (p) orthogonal to them,

where v_0 (r x M) follows from y, E is uniform under the prior of unit variance, and z is free. For two tokens v_0 = (a, -b) / s,
a = log(y_11 / y_12) / beta, b = log(y_22 / y_21) / beta, s = sqrt(a + b); the measure of (E, z) per (a, b) is the surface of the
sphere times s^(p - 3) / 2.
"""

from dataclasses import dataclass
from math import lgamma, log, pi

import numpy as np

from attention_limits.numerics.solvers.small_systems import solve
from attention_limits.sequence_multi_index.links.attention.base import AttentionLayers
from attention_limits.sequence_multi_index.links.attention.layers import head_weights, require_heads, softmax_rows
from attention_limits.sequence_multi_index.links.link import ROTATION, SPHERE


@dataclass(frozen=True)
class RankAttention(AttentionLayers):
    """Layers S_l = softmax_rows(beta sum_k w_k (h_lk B_{l-1})^T (h_lk B_{l-1})) of p rows each, y = S_L.

    Rows h_11 ... h_1p, h_21 ...: P = L p. B_l as in `deep`. Without readout weights it is a layer of rank p; with them
    the softmax of the weighted sum of the scores of p heads.

    Attributes
    ----------
    skip, beta, depth, tokens
        See `AttentionLayers`.
    rank : int
        p >= 1.
    readout : sequence of float or None
        w_k > 0, one for each of the p heads; None is 1 each.
    """

    rank: int = 2
    skip: float = 1.0
    beta: float = 1.0
    depth: int = 1
    tokens: int = 2
    readout: tuple[float, ...] | None = None

    def __post_init__(self):
        super().__post_init__()
        require_heads("rank", self.rank, self.readout)

    @property
    def weights(self):
        """w (p,)."""
        return head_weights(self.readout, self.rank)

    @property
    def rows(self):
        """P = L p."""
        return self.depth * self.rank

    @property
    def rotations(self):
        """p, where all heads have the same weight."""
        return self.rank if len(set(self.weights)) == 1 else 1

    @property
    def free_rows(self):
        """All layers but the last."""
        return self.rows - self.rank

    @property
    def _spanned(self):
        """r, the dimension of the differences of the tokens."""
        return min(self.rank, self.tokens - 1)

    @property
    def angles(self):
        """E, and z where it is not zero."""
        return self.rank * (self._spanned + (self.rank > self._spanned))

    @property
    def posterior_methods(self):
        """One layer of rank two that reads two tokens: quadrature over the angle of E; see `Link`."""
        general = super().posterior_methods
        return (ROTATION, *general) if (self.rank, self.depth, self.tokens) == (2, 1, 2) else general

    @property
    def isotropic_method(self):
        """One layer of rank three or more with equal weights that reads two tokens; see `Link`."""
        return SPHERE if self.rank > 2 and self.rotations == self.rows and self.tokens == 2 else ""

    def _attention(self, read):
        return softmax_rows(self.beta * np.einsum("k,...ka,...kb->...ab", self.weights, read, read))

    def _weighted(self, h):
        """v (..., p, M) of the last layer."""
        return np.sqrt(self.weights)[:, None] * self._last(h)

    def forward(self, h):
        """Output y = S_L, array (..., M, M), of fields h (..., L p, M)."""
        v = self._weighted(h)
        return softmax_rows(self.beta * np.einsum("...ka,...kb->...ab", v, v))

    def observe(self, h, noise=None):
        """v_0 (n, r, M), which y determines up to a rotation of its rows, and known more exactly than y."""
        v = self._weighted(h)
        mean = v.mean(axis=-1, keepdims=True)
        frame = np.linalg.svd(v - mean, full_matrices=False)[0][..., : self._spanned]
        return np.einsum("...kr,...ka->...ra", frame, v)

    def log_volume(self, h):
        """That of (a, b) -> (y_12, y_21) for two tokens; unknown (NaN) for more; see `Link`."""
        return self._volume_of_ratios(h)

    def fibre(self, observed, free, angles):
        """The fields at one rotation and one z for each node; see `Link` and the module."""
        n, S = free.shape[:2]
        p, r, M, weights = self.rank, self._spanned, self.tokens, self.weights
        transposed = self._transfer(free)
        frame = _frame(angles[:, : p * r].reshape(-1, p, r))
        v = np.einsum("skr,nra->nska", frame, observed)
        log_weight = np.zeros((n, S))
        if p > r:
            # B^T 1 = (1 + c)^(L - 1) 1: z is drawn with the width that it has under the prior.
            x = angles[:, p * r :]
            x = x - np.einsum("skr,sr->sk", frame, np.einsum("skr,sk->sr", frame, x))
            width = (1.0 + self.skip) ** (self.depth - 1) * np.sqrt(weights.mean() / M)
            v = v + width * x[:, :, None]
            log_weight += 0.5 * np.sum(x**2, axis=1) + (p - r) * (0.5 * log(2.0 * pi) + np.log(width))
        if M == 2:
            # |dv| in the sum and the difference over tokens, and the surface of the sphere.
            s = np.abs(observed[:, 0, 0] - observed[:, 0, 1])
            surface = log(2.0) + 0.5 * p * log(pi) - lgamma(0.5 * p)
            log_weight += (surface - log(2.0) + (p - 3) * np.log(s))[:, None]
        last, log_determinant = solve(transposed, np.swapaxes(v, -1, -2))
        turned = _turned(np.swapaxes(last, -1, -2)) / np.sqrt(weights)[:, None]
        log_weight -= 0.5 * M * np.log(weights).sum()
        # Each rotation alone has the whole weight.
        log_weight -= np.log(turned.shape[2])
        log_weight = np.where(np.isneginf(log_determinant), -np.inf, log_weight - p * log_determinant)
        return turned, np.repeat(log_weight[:, :, None], turned.shape[2], axis=2)


def _turned(fields):
    """Fields (n, S, p, M) under some of the rotations that are as likely a priori, array (n, S, K, p, M).

    The exchange of rows makes E[h_p h_p | y] equal for all p at zero overlap without sampling noise, the change of a sign makes
    E[h_1 h_2 | y] zero for p = 2.
    """
    p = fields.shape[2]
    found = [np.roll(fields, k, axis=2) for k in range(p)]
    if p == 2:
        found += [turn * np.array([1.0, -1.0])[:, None] for turn in found]
    return np.stack(found, axis=2)


def _frame(x):
    """Orthonormal columns (S, p, r), uniform, from standard normal variables (S, p, r); odd in them (Gram and Schmidt)."""
    columns = []
    for k in range(x.shape[2]):
        column = x[:, :, k]
        # Twice, because the first difference may be short.
        for other in (*columns, *columns):
            column = column - np.sum(other * column, axis=1, keepdims=True) * other
        columns.append(column / np.sqrt(np.sum(column * column, axis=1, keepdims=True)))
    return np.stack(columns, axis=2)
