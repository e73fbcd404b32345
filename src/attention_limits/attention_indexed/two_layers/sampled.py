"""Softmax layers of extensive width that read T tokens, with a sampled posterior: model, channel, averages.

Derived for this project; the model is that of `softmax`, for any number of tokens. Given the scores of the other layers, the
output determines the contrasts of the last one (`sampled_fields_kernels`). The scores of the other layers are sampled
(`sampled_posterior_kernels`). In posterior means z_l of the contrasts in prior standard deviations,

    q_hat_l = 4 alpha E ||G_l||_F^2 = alpha k_l / V_l,    k_l = 2 E |z_l|^2,    sum_l k_l -> 2 D = T^2 + T - 2 as V -> 0.

E tr G_l G_L = 0 for l < L, because the model is symmetric under a simultaneous change of sign of S~_L and h^L. For three layers
E tr G_1 G_2 does not vanish, and the state evolution of `state_evolution` does not hold (docs/attention_indexed_two_layers.md).
"""

import functools
import math
from dataclasses import dataclass, replace

import numpy as np

from attention_limits.attention_indexed.model.scores import attention, log_attention
from attention_limits.attention_indexed.two_layers import contrasts as layer_contrasts
from attention_limits.attention_indexed.two_layers.contrasts import Averages
from attention_limits.attention_indexed.two_layers.sampled_fields_kernels import Network
from attention_limits.attention_indexed.two_layers.sampled_posterior_kernels import posteriors
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.probability.statistics import with_controls

# An output is resolved if this many effective nodes carry it in both estimates.
FEWEST = 20.0
# The error of the nodes of a posterior is common to all outputs that share them: at least so many outputs of an average, in at
# most so many groups.
SHARED, GROUPS = 16, 64


@dataclass(frozen=True)
class SampledLayers:
    """The model with T = `tokens`, L = `layers`, and one strength of the residual connection.

    Attributes
    ----------
    tokens : int
        T >= 2.
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
        If T or L is below 2, c < 1, or beta is not positive and finite.
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

    def part(self, number):
        """The model with other nodes of its posterior, for the part of this `number` of the nodes of an average."""
        return replace(self, seed=self.seed + 1 + number)

    def log_output(self, *fields):
        """log y (n, T, T) of the raw scores (n, T, T) of each layer, `fields`; y itself may round to zero."""
        mixing = np.eye(self.tokens)
        for raw in fields[:-1]:
            scores = mixing @ raw @ np.swapaxes(mixing, -1, -2)
            mixing = (attention(scores, self.beta) + self.skip * np.eye(self.tokens)) @ mixing
        return log_attention(mixing @ fields[-1] @ np.swapaxes(mixing, -1, -2), self.beta)

    def output(self, *fields):
        """y (n, T, T) of the raw scores (n, T, T) of each layer, `fields`."""
        return np.exp(self.log_output(*fields))

    def observe(self, log_y):
        """h^L (n, T, T) up to a constant; outputs `log_y` (n, T, T) contain no more.

        log y_ab = beta h_ab - s_a gives s_b - s_a = log y_ab - log y_ba, because h is symmetric.
        """
        shifts = log_y[:, 0, :] - log_y[:, :, 0]
        h = (log_y + shifts[:, :, None]) / self.beta
        return 0.5 * (h + np.swapaxes(h, 1, 2))

    def observed(self, *fields):
        """`observe` of the outputs of raw scores (n, T, T) of each layer, `fields`."""
        return self.observe(self.log_output(*fields))

    def contrasts(self, h):
        """Contrasts (..., D) of scores h (..., T, T)."""
        return layer_contrasts.contrasts(h)

    def slopes(self, z, V):
        """G_l (n, L, T, T) of posterior means z (n, L, D) in prior standard deviations, at variances V (L,)."""
        return layer_contrasts.slopes(z, V, self.tokens)

    def posterior(self, a, means, V):
        """Posterior of outputs a (n, T, T), as in `observe`, at prior means (n, L, D) of `contrasts` and variances V (L,).

        Returns
        -------
        log_z : array (n,)
            Log density of the contrasts of a.
        z : array (n, L, D)
            Posterior means of the contrasts minus their prior means, in units of sqrt(V_l).
        spread : array (n, L)
            Posterior variances in these units, summed over the contrasts of a layer: E |z_l|^2 = D - E spread_l.
        resolved : bool array (n,)
            Whether at least FEWEST effective nodes carry the output in both estimates.
        """
        log_z, mean, squares, effective = self.estimates(a, means, V)
        spread = squares.mean(axis=0) - np.sum(mean[0] * mean[1], axis=2)
        return np.logaddexp(*log_z) - np.log(2.0), mean.mean(axis=0), spread, np.all(effective >= FEWEST, axis=0)

    def estimates(self, a, means, V):
        """The two estimates that `sampled_posterior_kernels.posteriors` returns, for a, `means` and V as in `posterior`."""
        return self._estimates(a, means, V, 0)

    def _estimates(self, a, means, V, scrambling):
        pilot, nodes = _nodes(self.tokens, self.layers, self.seed, scrambling)
        network = Network(layer_contrasts.basis(self.tokens), self.layers, float(self.skip), float(self.beta))
        arrays = (np.ascontiguousarray(array, float) for array in (a, means, V))
        return posteriors(*arrays, network, pilot, nodes)

    def averages(self, V, nodes) -> Averages:
        """Averages over outputs at variances V (L,), on Gaussian nodes of dimension `node_dimension`.

        |z_l|^2, the product of z_l with the true deviations and D - spread_l have the same expectation (Nishimori). The third
        scatters least; the others are its control variates.
        """
        V = np.asarray(V, float)
        points = nodes.points.reshape(len(nodes), 2, self.layers, self.size)
        means, truth = points[:, 0] * np.sqrt(1.0 - V)[:, None], points[:, 1]
        fields = layer_contrasts.matrices(means + truth * np.sqrt(V)[:, None], self.tokens)
        a = self.observed(*np.moveaxis(fields, 1, 0))
        count = max(SHARED, len(a) // GROUPS)
        found = [
            self._estimates(a[start : start + count], means[start : start + count], V, start // count)
            for start in range(0, len(a), count)
        ]
        _, z, moments, effective = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
        weights = nodes.weights[:, None]
        squares, overlaps = np.sum(z[0] * z[1], axis=2), np.sum(z.mean(axis=0) * truth, axis=2)
        known = self.size - moments.mean(axis=0) + squares
        combined = with_controls(*(weights * estimate for estimate in (known, squares, overlaps)))
        return Averages(2.0 * combined.mean(axis=0), float(np.mean(np.all(effective >= FEWEST, axis=0))))


@functools.lru_cache(maxsize=8 * GROUPS)
def _nodes(tokens, layers, seed, scrambling):
    """Nodes (S, F) for the proposals and (2, S, F) for the two estimates, S = 2^(2 T + L): more for more dimensions."""
    generator = np.random.default_rng((seed, scrambling))
    dimension = (layers - 1) * (tokens * (tokens + 1) // 2 - 1)
    sets = [gaussian_nodes(dimension, 2 ** (2 * tokens + layers), generator, widening=1.0).points for _ in range(3)]
    return sets[0], np.stack(sets[1:])
