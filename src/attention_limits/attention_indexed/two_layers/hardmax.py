"""Two layers of extensive width that read two tokens, softmax and then hardmax: model, channel, averages.

Derived for this project; the model is that of `softmax`, with y = the positions of the largest scores of the rows of h^2. An
output is the signs s_1 of h^2_11 - h^2_12 and s_2 of h^2_22 - h^2_12. Given the scores of layer 1, these differences are normal:
with the contrasts r_2 of the raw scores of layer 2, of means m_2 and variance V_2, and linear forms c_i of the mixing matrix,

    h^2_ii - h^2_12 = c_i . r_2,    kappa_i = s_i c_i . m_2 / (sqrt(V_2) |c_i|),    r = s_1 s_2 c_1 . c_2 / (|c_1| |c_2|),
    P(y | layer 1) = Phi_2(kappa_1, kappa_2; r).

The scores of layer 1 are sampled from their prior, with P as weights. The slopes of Phi_2 give the posterior mean of r_2, and

    E[|r_2 - m_2|^2 | y, layer 1] / V_2 = 2 - (kappa_1 d/dkappa_1 + kappa_2 d/dkappa_2) log Phi_2.

The output is a bounded function of the scores for any skip strength c >= 0; nothing diverges where the mixing matrix is singular.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtr, owens_t

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

# Nodes of each of two estimates.
NODES = 128
# Outputs at a time.
_CHUNK = 512
# Means further out than this many standard deviations are moved to this distance: their outputs have probabilities below 1e-88.
_FURTHEST = 20.0
# Smaller probabilities are rounding errors of Owen's T function; the ratio of their slopes to them would be without bound.
_SMALLEST = 1e-13
_OUTPUTS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


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
        V, n = np.asarray(V, float), len(signs)
        Z, effective, mean, squares = (np.empty((2, n, *shape)) for shape in ((), (), (2, 2), (2,)))
        for side, x in enumerate(self._nodes(0)):
            for start in range(0, n, _CHUNK):
                part = slice(start, start + _CHUNK)
                found = _moments(x, signs[part], *self._forms(means[part], V, x))
                Z[side, part], mean[side, part], squares[side, part], effective[side, part] = found
        with np.errstate(divide="ignore"):
            return np.log(Z), mean, squares, effective

    def _nodes(self, group):
        """Nodes (S, 2) of each estimate."""
        return node_sets(self.seed, group, 2, 2, NODES)

    def _forms(self, means, V, x):
        """Unit vectors c_i / |c_i| (n, S, 2, D) at nodes x (S, 2), and c_i . m_2 / (sqrt(V_2) |c_i|), (n, S, 2).

        With the rows b_1 = (c + s_1, 1 - s_1) and b_2 = (1 - s_2, c + s_2) of B, b_1 - b_2 = (e, -e), e = c + s_1 + s_2 - 1:
        h^2_11 - h^2_12 = b_1^T R (b_1 - b_2), and c_1k = sqrt(2) e (b_11 (E_k11 - E_k12) + b_12 (E_k12 - E_k22)); c_2 is the same
        of b_2, with the other sign.
        """
        E = basis(2)
        to_first, to_second = E[:, 0, 0] - E[:, 0, 1], E[:, 1, 1] - E[:, 0, 1]
        u = (means[:, None, 0] + np.sqrt(V[0]) * x) @ (np.sqrt(2.0) * np.stack([to_first, to_second], axis=1))
        s = expit(self.beta * u)
        own, other = (self.skip + s)[..., None], (1.0 - s)[..., None]
        forms = np.stack(
            [
                own[:, :, 0] * to_first - other[:, :, 0] * to_second,
                own[:, :, 1] * to_second - other[:, :, 1] * to_first,
            ],
            axis=2,
        )
        forms /= np.sqrt(np.einsum("nsik,nsik->nsi", forms, forms))[..., None]
        forms *= np.where(own[:, :, 0] > other[:, :, 1], 1.0, -1.0)[..., None]
        return forms, np.einsum("nsik,nk->nsi", forms, means[:, 1]) / np.sqrt(V[1])

    def averages(self, V, nodes) -> Averages:
        """Averages over outputs at variances V (2,), on Gaussian nodes of dimension `node_dimension`.

        The sum over the four outputs of each node, with their probabilities.
        """
        V = np.asarray(V, float)
        means = nodes.points.reshape(len(nodes), 2, 2) * np.sqrt(1.0 - V)[:, None]
        information, resolved = np.zeros(2), 0.0
        for group, part in groups(len(nodes)):
            forms = [(x, *self._forms(means[part], V, x)) for x in self._nodes(group)]
            for output in _OUTPUTS:
                signs = np.broadcast_to(output, (len(means[part]), 2))
                first, second = (_moments(x, signs, *both) for x, *both in forms)
                weights = nodes.weights[part] * 0.5 * (first[0] + second[0])
                information += 2.0 * np.sum(weights[:, None] * np.sum(first[1] * second[1], axis=2), axis=0)
                resolved += float(np.sum(weights * (np.minimum(first[3], second[3]) >= FEWEST)))
        return Averages(information / len(nodes), min(1.0, resolved / len(nodes)))


def _moments(x, signs, forms, ratios):
    """One estimate of `HardmaxLayers.estimates` on nodes x (S, 2), with `_forms` of the means.

    The weights P have the mean of the nodes themselves as control variate: an output without information has the prior moments.
    """
    kappa = np.clip(signs[:, None] * ratios, -_FURTHEST, _FURTHEST)
    r = signs[:, :1] * signs[:, 1:] * np.einsum("nsk,nsk->ns", forms[:, :, 0], forms[:, :, 1])
    P, by = _normal_slopes(kappa, np.clip(r, -1.0 + 1e-14, 1.0 - 1e-14))
    total = P.sum(axis=1)
    safe = np.where(total > 0, total, 1.0)[:, None]
    some = (total > 0)[:, None]
    lengths = np.sum(x**2, axis=1)
    first = np.where(some, P @ x / safe - x.mean(axis=0), 0.0)
    last = np.einsum("nsi,nsik->nk", by * signs[:, None], forms) / safe
    squares = np.stack([P @ lengths - total * lengths.mean(), -np.einsum("nsi,nsi->n", kappa, by)], axis=1) / safe + 2.0
    effective = total**2 / np.maximum(np.sum(P**2, axis=1), np.finfo(float).tiny)
    return total / len(x), np.stack([first, last], axis=1), np.where(some, squares, 2.0), effective


def _normal_slopes(kappa, r):
    """Phi_2 (...) of kappa (..., 2) and correlation r (...), |r| < 1, and its derivatives d / d kappa (..., 2).

    By Owen's T function: Phi_2 = (Phi(a) + Phi(b)) / 2 - T(a, (b - r a) / (a c)) - T(b, (a - r b) / (b c)) - (1/2 where a b < 0),
    with c = sqrt(1 - r^2). The error is absolute, about 1e-16: enough for weights. Probabilities below _SMALLEST are zero, and
    their derivatives too.
    """
    a, b = (np.where(k == 0.0, np.finfo(float).tiny, k) for k in np.moveaxis(kappa, -1, 0))
    c = np.sqrt((1.0 - r) * (1.0 + r))
    to_a, to_b = (b - r * a) / c, (a - r * b) / c
    with np.errstate(over="ignore"):
        shares = owens_t(a, to_a / a) + owens_t(b, to_b / b)
    P = np.clip(0.5 * (ndtr(a) + ndtr(b)) - shares - np.where(a * b < 0.0, 0.5, 0.0), 0.0, 1.0)
    density = np.exp(-0.5 * kappa**2) / np.sqrt(2.0 * np.pi)
    known = P >= _SMALLEST
    return P * known, density * np.stack([ndtr(to_a), ndtr(to_b)], axis=-1) * known[..., None]
