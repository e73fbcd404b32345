"""Several tied heads per layer, a sequence multi-index model (Troiani et al. 2025, arXiv:2502.00901).

The output of several tied heads is inverted for two tokens. For more tokens it leaves finitely many fields if P <= M - 2
(`all_fields`); otherwise the inference needs output noise.

The last attention matrix S(u) follows from the fields sampled before it, with the weight 1 / |dS/du|, where
dS/du ~ (u_1 - u_2)^2. This weight alone would have an infinite variance: the whole line u_1 = u_2 is the preimage of one point.
Therefore half of the candidates sample the last head but one and solve for the last head, the other half exchange the two
heads. The weights contain the sum of both densities (balance heuristic, Veach and Guibas 1995), which vanishes only where both
heads are on such a line.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import permutations, product
from math import factorial, prod

import numpy as np

from attention_limits.sequence_multi_index.links.attention import all_fields
from attention_limits.sequence_multi_index.links.attention.base import AttentionLayers
from attention_limits.sequence_multi_index.links.attention.layers import (
    apply,
    head_weights,
    inverse_of_two,
    log_jacobian,
    log_normal,
    rank_one,
    require_heads,
    score_root,
    signed_pairs,
)


@dataclass(frozen=True)
class MultiHeadAttention(AttentionLayers):
    """Layers with H tied heads of rank one: S_l = sum_k w_k softmax_rows(beta (h_lk B_{l-1})^T (h_lk B_{l-1})), y = S_L.

    Rows h_11 ... h_1H, h_21 ...: P = L H. B_l as in `deep`. Given all other heads, y minus their attention must be w_H
    times the attention matrix of the last one; the last two heads exchange their roles, see the module.

    Attributes
    ----------
    skip, beta, depth, tokens
        See `AttentionLayers`.
    heads : int
        H >= 1.
    readout : sequence of float or None
        Readout weights w_k > 0, one for each head; None is 1 / H each, the mean.
    """

    heads: int = 2
    skip: float = 1.0
    beta: float = 1.0
    depth: int = 1
    tokens: int = 2
    readout: tuple[float, ...] | None = None

    def __post_init__(self):
        super().__post_init__()
        require_heads("heads", self.heads, self.readout)

    @property
    def weights(self):
        """w (H,)."""
        return head_weights(self.readout, self.heads, 1.0 / self.heads)

    @property
    def rows(self):
        """P = L H."""
        return self.depth * self.heads

    @property
    def student(self):
        """Layers of H tied heads and their mean; None with readout weights; see `Link`."""
        if self.readout is not None:
            return None
        return "attention", (self.depth, self.heads, self.tokens, self.skip, self.beta, 0, 1, 0)

    @property
    def free_rows(self):
        """All but the last two heads, or the only one, of the last layer; none where the output leaves finitely many fields."""
        return 0 if self._finite else self.rows - min(self.heads, 2)

    @property
    def angles(self):
        """The fields of one head."""
        return self.tokens if self.heads > 1 and not self._finite else 0

    @property
    def no_density(self):
        """Why there is no channel: more than two tokens, and too many rows for a finite sum."""
        return "" if self.tokens == 2 or self._finite else all_fields.TOO_MANY

    @property
    def _finite(self):
        exchanges = prod(factorial(count) for count in Counter(self.weights).values()) ** self.depth
        return all_fields.overdetermined(self.rows, self.tokens, exchanges)

    @property
    def _turns(self):
        """Signs of all rows, and exchanges of the heads of a layer that have the same weight."""
        heads = range(self.heads)
        orders = [order for order in permutations(heads) if all(self.weights[list(order)] == self.weights)]
        layers = product(orders, repeat=self.depth)
        exchanges = [[layer * self.heads + k for layer, order in enumerate(one) for k in order] for one in layers]
        return all_fields.signed_exchanges(exchanges, self.rows)

    def observe(self, h, noise=None):
        """All fields (n, K, P, M) with the output, up to signs and exchanged heads (`all_fields.search`), or the output
        itself."""
        return all_fields.search(self.forward, h, self._turns) if self._finite else self.forward(h)

    def _attention(self, read):
        return np.einsum("k,...kab->...ab", self.weights, rank_one(self.beta, read))

    def fibre(self, observed, free, angles):
        """Candidates of the last two heads (or of the only one), or of all; see `Link` and the class."""
        if self._finite:
            return all_fields.candidates(self.forward, observed, self._turns, free.shape[1])
        transposed = self._transfer(free)
        inverse, log_det = inverse_of_two(transposed)
        others = np.einsum("nsab,nsrb->nsra", transposed, free[:, :, self.rows - self.heads :])
        left = observed[:, None] - np.einsum(
            "k,nskab->nsab", self.weights[: others.shape[2]], rank_one(self.beta, others)
        )
        if self.heads == 1:
            read, valid, log_change = score_root(left / self.weights[0], self.beta)
            last = apply(inverse, read)
            log_weight = -log_change - log_det - 2.0 * np.log(self.weights[0])
            log_weight = np.where(valid & np.isfinite(log_det), log_weight, -np.inf)
            return np.stack([last, -last], axis=2)[:, :, :, None], np.repeat(log_weight[..., None], 2, axis=2)
        sampled = np.broadcast_to(angles, (*free.shape[:2], 2))
        read = apply(transposed, sampled)
        attention, (first_weight, last_weight) = rank_one(self.beta, read), self.weights[-2:]
        candidates, log_weights = self._pairs(
            left, inverse, log_det, sampled, read, attention, first_weight, last_weight
        )
        if first_weight == last_weight:
            other, other_weights = candidates, log_weights
        else:
            other, other_weights = self._pairs(
                left, inverse, log_det, sampled, read, attention, last_weight, first_weight
            )
        both = np.concatenate([candidates, other[..., ::-1, :]], axis=2)
        return both, np.concatenate([log_weights, other_weights], axis=2)

    def _pairs(self, left, inverse, log_det, sampled, read, attention, weight, solved_weight):
        """Candidates of a sampled head of readout weight `weight` and a solved one of `solved_weight`, see `signed_pairs`."""
        solved_read, valid, log_solved = score_root((left - weight * attention) / solved_weight, self.beta)
        solved = apply(inverse, solved_read)
        # dy = w dS of each head, in two entries.
        by_sampled = log_normal(sampled) + log_solved + 2.0 * np.log(solved_weight)
        by_solved = log_normal(solved) + log_jacobian(read, attention, self.beta) + 2.0 * np.log(weight)
        log_weight = -log_det - np.logaddexp(by_sampled, by_solved)
        return signed_pairs(
            sampled, solved, np.where(valid & np.isfinite(log_det), log_weight, -np.inf), self.free_rows > 0
        )
