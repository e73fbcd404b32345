"""Softmax layers of extensive width that read M tokens, with a sampled posterior: model, channel, averages.

Derived for this project; the model is that of `softmax`, for any number of tokens. Given the scores of the other layers, the
output determines the contrasts of the last one (`sampled_fields_kernels`). The scores of the other layers are sampled
(`sampled_posterior_kernels`). In posterior means z_l of the contrasts in prior standard deviations,

    q_hat_l = 4 alpha E ||G_l||_F^2 = alpha k_l / V_l,    k_l = 2 E |z_l|^2,    sum_l k_l -> 2 D = M^2 + M - 2 as V -> 0.

E tr G_l G_L = 0 for l < L, because the model is symmetric under a simultaneous change of sign of S~_L and h^L. For three layers
E tr G_1 G_2 does not vanish, and the state evolution of `state_evolution` does not hold (docs/attention_indexed_two_layers.md).
"""

import math
from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.model.scores import attention, log_attention
from attention_limits.attention_indexed.two_layers.contrasts import basis, matrices
from attention_limits.attention_indexed.two_layers.layers import FEWEST, Averages, Sampled, groups, node_sets
from attention_limits.attention_indexed.two_layers.sampled_fields_kernels import Network
from attention_limits.attention_indexed.two_layers.sampled_posterior_kernels import posteriors
from attention_limits.numerics.probability.statistics import with_controls


@dataclass(frozen=True)
class SampledLayers(Sampled):
    """The model with M = `tokens`, L = `layers`, and one strength of the residual connection.

    Attributes
    ----------
    tokens : int
        M >= 2.
    skip : float
        c >= 1, for which the mixing matrix of all tokens is invertible.
    beta : float
        Inverse temperature, > 0.
    layers : int
        L >= 2. The state evolution holds for two.
    seed : int
        Of the nodes of the posterior: a posterior is a function of its output and of the seed.

    Raises
    ------
    ValueError
        If M or L is below 2, c < 1, or beta is not positive and finite.
    """

    tokens: int
    skip: float = 1.0
    beta: float = 1.0
    layers: int = 2
    seed: int = 0

    def __post_init__(self):
        if not (self.tokens >= 2 and self.layers >= 2 and 1 <= self.skip < math.inf and 0 < self.beta < math.inf):
            raise ValueError(
                f"need tokens >= 2, layers >= 2, skip >= 1 and beta > 0, both finite, got {self.tokens}, {self.layers}, "
                f"{self.skip} and {self.beta}"
            )

    @property
    def size(self) -> int:
        """D, the number of contrasts of a layer."""
        return self.tokens * (self.tokens + 1) // 2 - 1

    @property
    def equations(self) -> int:
        """Number of equations of an output."""
        return self.size

    @property
    def node_dimension(self) -> int:
        """Prior means and deviations of all contrasts."""
        return 2 * self.layers * self.size

    def log_output(self, *fields):
        """log y (n, M, M) of the raw scores (n, M, M) of each layer, `fields`; y itself may round to zero."""
        mixing = np.eye(self.tokens)
        for raw in fields[:-1]:
            scores = mixing @ raw @ np.swapaxes(mixing, -1, -2)
            mixing = (attention(scores, self.beta) + self.skip * np.eye(self.tokens)) @ mixing
        return log_attention(mixing @ fields[-1] @ np.swapaxes(mixing, -1, -2), self.beta)

    def output(self, *fields):
        """y (n, M, M) of the raw scores (n, M, M) of each layer, `fields`."""
        return np.exp(self.log_output(*fields))

    def observe(self, log_y):
        """h^L (n, M, M) up to a constant; outputs `log_y` (n, M, M) contain no more.

        log y_ab = beta h_ab - s_a gives s_b - s_a = log y_ab - log y_ba, because h is symmetric.
        """
        shifts = log_y[:, 0, :] - log_y[:, :, 0]
        h = (log_y + shifts[:, :, None]) / self.beta
        return 0.5 * (h + np.swapaxes(h, 1, 2))

    def observed(self, *fields):
        """`observe` of the outputs of raw scores (n, M, M) of each layer, `fields`."""
        return self.observe(self.log_output(*fields))

    def estimates(self, a, means, V):
        """As in `Sampled`, of outputs a (n, M, M), as in `observe`, at prior `means` (n, L, D) and variances V (L,)."""
        return self._estimates(a, means, V, 0)

    def _estimates(self, a, means, V, group):
        # One set for the proposals, two for the estimates; more nodes for more dimensions.
        dimension, count = (self.layers - 1) * self.size, 2 ** (2 * self.tokens + self.layers)
        pilot, *nodes = node_sets(self.seed, group, 3, dimension, count)
        network = Network(basis(self.tokens), self.layers, float(self.skip), float(self.beta))
        arrays = (np.ascontiguousarray(array, float) for array in (a, means, V))
        return posteriors(*arrays, network, pilot, np.stack(nodes))

    def averages(self, V, nodes) -> Averages:
        """Averages over outputs at variances V (L,), on Gaussian nodes of dimension `node_dimension`.

        |z_l|^2, the product of z_l with the true deviations and D - spread_l have the same expectation (Nishimori). The third
        scatters least; the others are its control variates.
        """
        V = np.asarray(V, float)
        points = nodes.points.reshape(len(nodes), 2, self.layers, self.size)
        means, truth = points[:, 0] * np.sqrt(1.0 - V)[:, None], points[:, 1]
        fields = matrices(means + truth * np.sqrt(V)[:, None], self.tokens)
        a = self.observed(*np.moveaxis(fields, 1, 0))
        found = [self._estimates(a[part], means[part], V, group) for group, part in groups(len(a))]
        _, z, moments, effective = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
        weights = nodes.weights[:, None]
        squares, overlaps = np.sum(z[0] * z[1], axis=2), np.sum(z.mean(axis=0) * truth, axis=2)
        known = self.size - moments.mean(axis=0) + squares
        combined = with_controls(*(weights * estimate for estimate in (known, squares, overlaps)))
        return Averages(2.0 * combined.mean(axis=0), float(np.mean(np.all(effective >= FEWEST, axis=0))))
