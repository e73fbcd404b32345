"""Two layers of extensive width that read two tokens, softmax and then hardmax: model, channel, averages.

Derived for this project; the model is that of `softmax`, with y = the positions of the largest scores of the rows of h^2. An
output is the signs s_1 of h^2_11 - h^2_12 and s_2 of h^2_22 - h^2_12. Given the scores of layer 1, these differences are normal:
with the contrasts r_2 of the raw scores of layer 2, of means m_2 and variance V_2, and linear forms c_i of the mixing matrix,

    h^2_ii - h^2_12 = c_i . r_2,    kappa_i = s_i c_i . m_2 / (sqrt(V_2) |c_i|),    r = s_1 s_2 c_1 . c_2 / (|c_1| |c_2|),
    P(y | layer 1) = Phi_2(kappa_1, kappa_2; r).        (`two_tokens.hardmax_kernels`)

The scores of layer 1 are sampled from their prior, with P as weights. The slopes of Phi_2 give the posterior mean of r_2, and

    E[|r_2 - m_2|^2 | y, layer 1] / V_2 = 2 - (kappa_1 d/dkappa_1 + kappa_2 d/dkappa_2) log Phi_2.

The output is a bounded function of the scores for any skip strength c >= 0; nothing diverges where the mixing matrix is singular.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.model.scores import attention
from attention_limits.attention_indexed.two_layers.contrasts import basis
from attention_limits.attention_indexed.two_layers.layers import (
    FEWEST,
    Averages,
    Sampled,
    TwoTokens,
    groups,
    node_sets,
)
from attention_limits.attention_indexed.two_layers.two_tokens.hardmax_kernels import (
    FIRST_1,
    LAST_1,
    LENGTHS,
    RADIAL,
    SQUARES,
    TOTAL,
    sums,
)

# Nodes of each of two estimates.
NODES = 128


@dataclass(frozen=True)
class HardmaxLayers(Sampled, TwoTokens):
    """Softmax in the first layer, hardmax in the second.

    `seed` is that of the nodes of the posterior: a posterior is a function of its output and of the seed.
    """

    seed: int = 0

    # Signs are coarser than equations.
    equations = None
    # The prior means of all contrasts: the average sums over the four outputs.
    node_dimension = 4

    def output(self, first, second):
        """One-hot rows y (n, 2, 2) of the raw scores of the layers, `first` and `second` (n, 2, 2)."""
        return attention(self.last_scores(first, second), np.inf)

    def observed(self, first, second):
        """Signs (n, 2) of (h^2_11 - h^2_12, h^2_22 - h^2_12) of the raw scores of the layers, `first` and `second` (n, 2, 2)."""
        h = self.last_scores(first, second)
        return np.where(np.stack([h[:, 0, 0] > h[:, 0, 1], h[:, 1, 1] > h[:, 0, 1]], axis=1), 1.0, -1.0)

    def estimates(self, signs, means, V):
        """As in `Sampled`, of outputs `signs` (n, 2), as in `observed`, at prior `means` (n, 2, 2) and variances V (2,).

        Zero nodes are effective where none explains the output, which then has the moments of the prior.
        """
        place = np.where(signs[:, 0] > 0, 0, 2) + np.where(signs[:, 1] > 0, 0, 1)
        some = np.arange(len(place))
        parts = [[moment[some, place] for moment in self._moments(means, V, x)] for x in self._nodes(0)]
        P, mean, squares, effective = (np.stack(both) for both in zip(*parts, strict=True))
        with np.errstate(divide="ignore"):
            return np.log(P), mean, squares, effective

    def _nodes(self, group):
        """Nodes (S, 2) of each estimate."""
        return node_sets(self.seed, group, 2, 2, NODES)

    def _moments(self, means, V, x):
        """One estimate of the four outputs on nodes x (S, 2): as `estimates`, with P in place of log Z, (n, 4, ...).

        The weights P have the mean of the nodes themselves as control variate: an output without information has the prior
        moments. With the rows b_1 = (c + s_1, 1 - s_1) and b_2 = (1 - s_2, c + s_2) of B, b_1 - b_2 = (e, -e),
        e = c + s_1 + s_2 - 1: h^2_11 - h^2_12 = b_1^T R (b_1 - b_2), and
        c_1k = sqrt(2) e (b_11 (E_k11 - E_k12) + b_12 (E_k12 - E_k22)); c_2 is the same of b_2, with the other sign.
        """
        E = basis(2)
        contrasts = np.stack([E[:, 0, 0] - E[:, 0, 1], E[:, 1, 1] - E[:, 0, 1]])
        arrays = (np.ascontiguousarray(array, float) for array in (means, V, x.T, contrasts))
        found = np.moveaxis(sums(*arrays, float(self.skip), float(self.beta)), -1, 0)
        total = found[TOTAL]
        some, safe = total > 0, np.where(total > 0, total, 1.0)
        first = np.where(some, found[FIRST_1 : FIRST_1 + 2] / safe - x.mean(axis=0)[:, None, None], 0.0)
        last = np.where(some, found[LAST_1 : LAST_1 + 2] / safe, 0.0)
        lengths = found[LENGTHS] - total * np.mean(np.sum(x**2, axis=1))
        squares = np.where(some, np.stack([lengths, -found[RADIAL]]) / safe, 0.0) + 2.0
        effective = total**2 / np.maximum(found[SQUARES], np.finfo(float).tiny)
        mean = np.moveaxis(np.stack([first, last]), (0, 1), (-2, -1))
        return total / len(x), mean, np.moveaxis(squares, 0, -1), effective

    def averages(self, V, nodes) -> Averages:
        """Averages over outputs at variances V (2,), on Gaussian nodes of dimension `node_dimension`.

        The sum over the four outputs of each node, with their probabilities.
        """
        V = np.asarray(V, float)
        means = nodes.points.reshape(len(nodes), 2, 2) * np.sqrt(1.0 - V)[:, None]
        information, resolved = np.zeros(2), 0.0
        for group, part in groups(len(nodes)):
            first, second = (self._moments(means[part], V, x) for x in self._nodes(group))
            weights = nodes.weights[part][:, None] * 0.5 * (first[0] + second[0])
            information += 2.0 * np.sum(weights[..., None] * np.sum(first[1] * second[1], axis=-1), axis=(0, 1))
            resolved += float(np.sum(weights * (np.minimum(first[3], second[3]) >= FEWEST)))
        return Averages(information / len(nodes), min(1.0, resolved / len(nodes)))
