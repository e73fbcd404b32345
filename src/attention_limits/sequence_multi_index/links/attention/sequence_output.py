"""Deep attention whose output is the sequence that leaves the last layer, not an attention matrix.

The layers are those of Troiani et al. 2025 (arXiv:2502.00901), the inversion is derived in this module. See `multi_head`
for why the last two layers are sampled in turn.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.links.attention import all_fields
from attention_limits.sequence_multi_index.links.attention.base import AttentionLayers
from attention_limits.sequence_multi_index.links.attention.layers import (
    apply,
    inverse_of_two,
    layer_product,
    log_jacobian,
    log_normal,
    rank_one,
    score_root,
    signed_pairs,
)
from attention_limits.sequence_multi_index.links.link import require_shape


@dataclass(frozen=True)
class SequenceOutput(AttentionLayers):
    """Tied layers of rank one whose output is the sequence itself: y = B_L, that is token a of the output is sum_b y_ba x_b.

    B_l as in `deep`, P = L. Given the layers before, S_L^T = B_{L-1}^-1 y - c I must be an attention matrix. It moves
    y in the directions (1, -1)^T x alone (1^T y is constant), which B_{L-1} multiplies by its second eigenvalue; the last two
    layers exchange their roles, see the module.
    skip, beta, depth and tokens are those of `AttentionLayers`.
    """

    skip: float = 1.0
    beta: float = 1.0
    depth: int = 2
    tokens: int = 2

    @property
    def rows(self):
        """P = L."""
        return self.depth

    @property
    def student(self):
        """Layers of one tied head, with the sequence as output; see `Link`."""
        return "attention", (self.depth, 1, self.tokens, self.skip, self.beta, 0, 1, 1)

    @property
    def free_rows(self):
        """All but the last two layers, or the only one; none where the output leaves finitely many fields."""
        return 0 if self._finite else max(self.depth - 2, 0)

    @property
    def angles(self):
        """The fields of one layer."""
        return self.tokens if self.depth > 1 and not self._finite else 0

    @property
    def no_density(self):
        """Why there is no channel: more than two tokens, and too many rows for a finite sum (`all_fields`)."""
        return "" if self.tokens == 2 or self._finite else all_fields.TOO_MANY

    @property
    def _finite(self):
        return all_fields.overdetermined(self.depth, self.tokens)

    @property
    def _turns(self):
        """Signs of all rows."""
        return all_fields.signed_exchanges([range(self.depth)], self.depth)

    def observe(self, h, noise=None):
        """All fields (n, K, P, M) with the output, up to signs (`all_fields.search`), or the output itself."""
        return all_fields.search(self.forward, h, self._turns) if self._finite else self.forward(h)

    def _attention(self, read):
        return rank_one(self.beta, read[..., 0, :])

    def _step(self, u):
        """c I + S of a layer that reads u (..., M)."""
        return self._attention(u[..., None, :]) + self.skip * np.eye(self.tokens)

    def forward(self, h):
        """Output y = B_L, array (..., M, M), of fields h (..., L, M)."""
        h = require_shape(h, self.rows, self.tokens)
        return np.swapaxes(layer_product(h[..., None, :], self._attention, self.skip), -1, -2)

    def fibre(self, observed, free, angles):
        """Candidates of the last two layers (or of the only one), or of all; see `Link` and the class."""
        if self._finite:
            return all_fields.candidates(self.forward, observed, self._turns, free.shape[1])
        y = np.swapaxes(observed, -1, -2)[:, None]
        identity = np.eye(2)
        if self.depth == 1:
            u, valid, log_change = score_root(y - self.skip * identity, self.beta)
            log_weight = np.broadcast_to(np.where(valid, -log_change, -np.inf)[..., None], (*free.shape[:2], 2))
            return np.broadcast_to(np.stack([u, -u], axis=2), (*free.shape[:2], 2, 2))[:, :, :, None], log_weight
        before = layer_product(free[..., None, :], self._attention, self.skip)
        inverse, _ = inverse_of_two(before)
        sampled = np.broadcast_to(angles, (*free.shape[:2], 2))
        parts = []
        # Once the layer before the last is sampled,
        first = apply(before, sampled)
        middle, _ = inverse_of_two(self._step(first) @ before)
        last, valid, _ = score_root(y @ middle - self.skip * identity, self.beta)
        parts.append(self._weighed(before, first, last, valid, False))
        # and once the fields that the last layer reads.
        last = apply(self._spread(before), sampled)
        step, _ = inverse_of_two(self._step(last))
        first, valid, _ = score_root(step @ y @ inverse - self.skip * identity, self.beta)
        parts.append(self._weighed(before, first, last, valid, True))
        return tuple(np.concatenate(part, axis=2) for part in zip(*parts, strict=True))

    def _spread(self, before):
        """The fields that the last layer reads are sampled as this matrix (..., 2, 2) times standard normal variables."""
        return (self.skip * np.eye(2) + np.array([[0.75, 0.25], [0.25, 0.75]])) @ before

    def _weighed(self, before, first, last, valid, solved_first):
        """Candidates and weights of the last two layers, which read `first` and `last`; one sampled, the other solved for."""
        middle = self._step(first) @ before
        (inverse, log_det), (inverse_middle, log_det_middle) = inverse_of_two(before), inverse_of_two(middle)
        inverse_spread, log_det_spread = inverse_of_two(self._spread(before))
        _, log_det_last = inverse_of_two(self._step(last))
        h_first, h_last = apply(inverse, first), apply(inverse_middle, last)
        # dy / d(fields), of the last layer given the one before, and of that one given the fields that the last one reads.
        by_first = log_normal(h_first) + log_jacobian(last, self._attention(last[..., None, :]), self.beta)
        by_first = by_first + 2.0 * _log_second_eigenvalue(middle) + log_det_middle
        by_last = log_normal(apply(inverse_spread, last)) - log_det_spread + log_det_middle + log_det_last
        by_last = by_last + log_jacobian(first, self._attention(first[..., None, :]), self.beta)
        by_last = by_last + 2.0 * _log_second_eigenvalue(before) + log_det
        regular = valid & np.isfinite(log_det + log_det_middle)
        log_weight = np.where(regular, -np.logaddexp(by_first, by_last), -np.inf)
        if solved_first:
            candidates, log_weight = signed_pairs(h_last, h_first, log_weight, self.free_rows > 0)
            return candidates[..., ::-1, :], log_weight
        return signed_pairs(h_first, h_last, log_weight, self.free_rows > 0)


def _log_second_eigenvalue(transposed):
    """log |eigenvalue| of B, given as B^T (..., 2, 2), on (1, -1): 1^T is its left eigenvector."""
    with np.errstate(divide="ignore"):
        return np.log(np.abs(transposed[..., 0, 0] - transposed[..., 1, 0]))
