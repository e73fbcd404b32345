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

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, ndtr, owens_t

from attention_limits.attention_indexed.model.scores import attention
from attention_limits.attention_indexed.two_layers import contrasts as layer_contrasts
from attention_limits.attention_indexed.two_layers.contrasts import Averages
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes

# Nodes of each of two estimates; an output is resolved if this many effective nodes carry it in both.
NODES, FEWEST = 128, 20.0
# The error of the nodes of a posterior is common to all outputs that share them: those of at least so many nodes of an average,
# in at most so many groups.
SHARED, GROUPS = 16, 64
# Outputs at a time.
_CHUNK = 512
# Means further out than this many standard deviations are moved to this distance: their outputs have probabilities below 1e-88.
_FURTHEST = 20.0
_OUTPUTS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


@dataclass(frozen=True)
class HardmaxLayers:
    """The model at one strength of the residual connection.

    Attributes
    ----------
    skip : float
        c >= 0.
    beta : float
        Inverse temperature of the first layer, > 0.
    seed : int
        Of the nodes of the posterior: a posterior is a function of its output and of the seed.

    Raises
    ------
    ValueError
        If c < 0, or beta is not positive; both must be finite.
    """

    skip: float = 1.0
    beta: float = 1.0
    seed: int = 0

    tokens = 2
    layers = 2
    size = 2
    # Signs are coarser than equations.
    equations = None
    # The prior means of all contrasts: the average sums over the four outputs.
    node_dimension = 4

    def __post_init__(self):
        if not (0 <= self.skip < math.inf and 0 < self.beta < math.inf):
            raise ValueError(f"need skip >= 0 and beta > 0, both finite, got {self.skip} and {self.beta}")

    def part(self, number):
        """The model with other nodes of its posterior, for the part of this `number` of the nodes of an average."""
        return replace(self, seed=self.seed + 1 + number)

    def mixing(self, first):
        """B (..., 2, 2) of the scores of layer 1, `first` (..., 2, 2)."""
        return attention(first, self.beta) + self.skip * np.eye(2)

    def output(self, first, second):
        """One-hot rows y (n, 2, 2) of the raw scores of the layers, `first` and `second` (n, 2, 2)."""
        B = self.mixing(first)
        return attention(B @ second @ np.swapaxes(B, 1, 2), np.inf)

    def observed(self, first, second):
        """Signs (n, 2) of (h^2_11 - h^2_12, h^2_22 - h^2_12) of the raw scores of the layers, `first` and `second` (n, 2, 2)."""
        B = self.mixing(first)
        h = B @ second @ np.swapaxes(B, 1, 2)
        return np.where(np.stack([h[:, 0, 0] > h[:, 0, 1], h[:, 1, 1] > h[:, 0, 1]], axis=1), 1.0, -1.0)

    def contrasts(self, h):
        """Contrasts (..., 2) of scores h (..., 2, 2)."""
        return layer_contrasts.contrasts(h)

    def slopes(self, z, V):
        """G_l (n, 2, 2, 2) of posterior means z (n, 2, 2) in prior standard deviations, at variances V (2,)."""
        return layer_contrasts.slopes(z, V, 2)

    def posterior(self, signs, means, V):
        """Posterior of outputs `signs` (n, 2), as in `observed`, at prior means (n, 2, 2) of `contrasts` and variances V (2,).

        Returns
        -------
        log_z : array (n,)
            Log probability of the output.
        z : array (n, 2, 2)
            Posterior means of the contrasts minus their prior means, in units of sqrt(V_l).
        spread : array (n, 2)
            Posterior variances in these units, summed over the contrasts of a layer.
        resolved : bool array (n,)
            Whether at least FEWEST effective nodes carry the output in both estimates.
        """
        Z, mean, squares, effective = self.estimates(signs, means, V)
        spread = squares.mean(axis=0) - np.sum(mean[0] * mean[1], axis=2)
        with np.errstate(divide="ignore"):
            log_z = np.log(Z.mean(axis=0))
        return log_z, mean.mean(axis=0), spread, np.all(effective >= FEWEST, axis=0)

    def estimates(self, signs, means, V):
        """Two independent estimates of the moments of outputs; `signs`, `means`, V as in `posterior`.

        Returns
        -------
        Z : array (2, n)
            Probability of the output.
        mean : array (2, n, 2, 2)
            Posterior means of the contrasts minus their prior means, in units of sqrt(V_l).
        squares : array (2, n, 2)
            Posterior means of the squares of these deviations, summed over the contrasts of a layer.
        effective : array (2, n)
            Effective number of nodes; zero where no node explains the output, which then has the moments of the prior.
        """
        V, n = np.asarray(V, float), len(signs)
        Z, effective, mean, squares = (np.empty((2, n, *shape)) for shape in ((), (), (2, 2), (2,)))
        for side, x in enumerate(_nodes(self.seed, 0)):
            for start in range(0, n, _CHUNK):
                part = slice(start, start + _CHUNK)
                found = _moments(x, signs[part], *self._forms(means[part], V, x))
                Z[side, part], mean[side, part], squares[side, part], effective[side, part] = found
        return Z, mean, squares, effective

    def _forms(self, means, V, x):
        """Unit vectors c_i / |c_i| (n, S, 2, D) at nodes x (S, 2), and c_i . m_2 / (sqrt(V_2) |c_i|), (n, S, 2).

        With the rows b_1 = (c + s_1, 1 - s_1) and b_2 = (1 - s_2, c + s_2) of B, b_1 - b_2 = (e, -e), e = c + s_1 + s_2 - 1:
        h^2_11 - h^2_12 = b_1^T R (b_1 - b_2), and c_1k = sqrt(2) e (b_11 (E_k11 - E_k12) + b_12 (E_k12 - E_k22)); c_2 is the same
        of b_2, with the other sign.
        """
        E = layer_contrasts.basis(2)
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
        information, resolved, count = np.zeros(2), 0.0, max(SHARED, len(nodes) // GROUPS)
        for start in range(0, len(nodes), count):
            part = slice(start, start + count)
            forms = [(x, *self._forms(means[part], V, x)) for x in _nodes(self.seed, start // count)]
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
    with c = sqrt(1 - r^2). The error is absolute, about 1e-16: enough for weights.
    """
    a, b = (np.where(k == 0.0, np.finfo(float).tiny, k) for k in np.moveaxis(kappa, -1, 0))
    c = np.sqrt((1.0 - r) * (1.0 + r))
    to_a, to_b = (b - r * a) / c, (a - r * b) / c
    with np.errstate(over="ignore"):
        shares = owens_t(a, to_a / a) + owens_t(b, to_b / b)
    P = np.clip(0.5 * (ndtr(a) + ndtr(b)) - shares - np.where(a * b < 0.0, 0.5, 0.0), 0.0, 1.0)
    density = np.exp(-0.5 * kappa**2) / np.sqrt(2.0 * np.pi)
    return P, density * np.stack([ndtr(to_a), ndtr(to_b)], axis=-1)


@functools.lru_cache(maxsize=8 * GROUPS)
def _nodes(seed, scrambling):
    """Nodes (S, 2) of each estimate."""
    generator = np.random.default_rng((seed, scrambling))
    return [gaussian_nodes(2, NODES, generator, widening=1.0).points for _ in range(2)]
