"""Many layers of tied attention, each rescaled by 1 / c: the model and its two limits.

B_0 = I, S_l = softmax_rows(beta (h_l B_{l-1})^T (h_l B_{l-1})), B_l = B_{l-1} [I + S_l^T / c], y = S_L (Troiani et al. 2025,
arXiv:2502.00901, appendix), at depth over skip strength kappa = L / c:

first order in 1/c      B_{L-1} = I + (1/c) sum_{l<L} softmax_rows(beta h_l^T h_l)^T: a committee of the first L - 1 layers, whose
                        error is of the order of kappa^2 however large c is;
c -> infinity           the layers average out, dB/dt = B Sbar(B)^T with Sbar(B) = E_h softmax_rows(beta (h B)^T (h B)) for
                        t in [0, kappa]: only the last layer can be learned.

By symmetry Sbar has the eigenvalue 1 on the mean of the tokens and p = (E tr S - 1) / (M - 1) on the differences, so that B has
e^t on the mean and lambda(t) on the differences, d log lambda / dt = p(e^t, lambda).
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from attention_limits.sequence_multi_index.links.attention.base import require_attention
from attention_limits.sequence_multi_index.links.attention.layers import (
    apply,
    last_row,
    layer_product,
    log_volume,
    rank_one,
)
from attention_limits.sequence_multi_index.links.link import Link, require_shape

# Nodes of the average over h, and tolerance of the solution in t. A node averages over its tokens too: beyond eight tokens their
# number falls like 1 / M^2, down to the second number.
NODES, FEWEST_NODES = 2**12, 2**8
TOLERANCE = 1e-6


def _require(ratio, beta, depth, tokens):
    if not (np.isfinite(ratio) and ratio > 0):
        raise ValueError(f"ratio must be a finite number > 0, got {ratio!r}")
    require_attention(1.0, beta, depth, tokens)


def _log_volume(link, h):
    """`layers.log_volume` at the score roots of a link."""
    u = link.observe(h)
    return log_volume(u, rank_one(link.beta, u), link.beta)


@dataclass(frozen=True)
class RescaledLayers(Link):
    """Common part of both models at finite depth: y = softmax_rows(beta u^T u), u = h_L B_{L-1}; `transfer` is B_{L-1}^T.

    Attributes
    ----------
    depth, tokens : int
        L and M; P = L.
    ratio, beta : float
        kappa = L / c > 0 and beta > 0.

    Raises
    ------
    ValueError
        If a parameter is out of its range.
    """

    depth: int = 2
    ratio: float = 1.0
    beta: float = 1.0
    tokens: int = 2

    sign_symmetry = "rows"

    def __post_init__(self):
        _require(self.ratio, self.beta, self.depth, self.tokens)

    @property
    def rows(self):
        """P = L."""
        return self.depth

    @property
    def free_rows(self):
        """All layers but the last."""
        return self.depth - 1

    def observe(self, h, noise=None):
        """The score root u = h_L B_{L-1} (n, M) of the output, known up to sign."""
        h = require_shape(h, self.rows, self.tokens)
        return apply(self.transfer(h[..., :-1, :]), h[..., -1, :])

    def forward(self, h):
        """Output y = S_L, array (..., M, M), of fields h (..., L, M)."""
        return rank_one(self.beta, self.observe(h))

    def log_volume(self, h):
        """That of u -> y; see `Link`."""
        return _log_volume(self, h)

    def fibre(self, observed, free, angles):
        """The two candidates +-B_{L-1}^-T u of the last layer, of weight 1 / |det B_{L-1}|."""
        return last_row(self.transfer(free), observed)


@dataclass(frozen=True)
class RescaledAttention(RescaledLayers):
    """Deep attention with rescaled layers, at finite depth and c = depth / ratio.

    As h_l enters through h_l B_{l-1} alone, this is `DeepAttention` with skip c of the fields h_l / c^(l-1).
    The parameters are those of `RescaledLayers`.
    """

    def transfer(self, h):
        """B_{L-1}^T (..., M, M) of the first L - 1 layers h (..., L - 1, M)."""
        gain = self.ratio / self.depth
        return layer_product(h[..., None, :], lambda read: rank_one(self.beta, read[..., 0, :]), 1.0, gain)


@dataclass(frozen=True)
class CommitteeDepth(RescaledLayers):
    """First order in 1/c: B_{L-1} = I + (1/c) sum_{l<L} softmax_rows(beta h_l^T h_l)^T.

    The parameters are those of `RescaledLayers`.
    """

    exchangeable = True

    def transfer(self, h):
        """B_{L-1}^T (..., M, M) of the first L - 1 layers h (..., L - 1, M)."""
        total = np.zeros((*h.shape[:-2], self.tokens, self.tokens))
        for layer in range(h.shape[-2]):
            total += rank_one(self.beta, h[..., layer, :])
        return np.eye(self.tokens) + self.ratio / self.depth * total


@cache
def average_transfer(ratio, beta, tokens):
    """B(kappa) of the limit c -> infinity, array (M, M), symmetric; kappa = `ratio`, M = `tokens`.

    The nodes are fixed: relative error of lambda(kappa) at most 4e-3 for kappa <= 20, and 1e-5 for M = 2 at kappa = 1.
    """
    from scipy.integrate import solve_ivp

    from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes

    count = NODES if tokens <= 8 else max(FEWEST_NODES, 2 ** int(np.log2(NODES * 64 / tokens**2)))
    h = gaussian_nodes(tokens, count, np.random.default_rng(0), 1.0).points
    mean = h.mean(axis=1, keepdims=True)

    def growth(t, log_difference):
        u = np.exp(t) * mean + np.exp(log_difference) * (h - mean)
        trace = np.trace(rank_one(beta, u), axis1=1, axis2=2).mean()
        return [(trace - 1.0) / (tokens - 1.0)]

    solution = solve_ivp(growth, (0.0, ratio), [0.0], rtol=TOLERANCE, atol=TOLERANCE)
    average = np.full((tokens, tokens), 1.0 / tokens)
    return np.exp(ratio) * average + np.exp(solution.y[0, -1]) * (np.eye(tokens) - average)


@dataclass(frozen=True)
class LargeDepth(Link):
    """c -> infinity: y = softmax_rows(beta u u^T) with u = B^T h of the last layer alone, B = B(kappa); P = 1.

    Attributes
    ----------
    ratio, beta : float
        kappa > 0 and beta > 0.
    tokens : int
        M.

    Raises
    ------
    ValueError
        If a parameter is out of its range.
    """

    ratio: float = 1.0
    beta: float = 1.0
    tokens: int = 2

    rows = 1
    sign_symmetry = "rows"

    def __post_init__(self):
        _require(self.ratio, self.beta, 1, self.tokens)

    @property
    def transfer(self):
        """B(kappa) (M, M); see `average_transfer`."""
        return average_transfer(self.ratio, self.beta, self.tokens)

    def observe(self, h, noise=None):
        """The score root u (n, M) of the output, known up to sign."""
        return require_shape(h, 1, self.tokens)[..., 0, :] @ self.transfer

    def forward(self, h):
        """Output y, array (..., M, M), of fields h (..., 1, M)."""
        return rank_one(self.beta, self.observe(h))

    def log_volume(self, h):
        """That of u -> y; see `Link`."""
        return _log_volume(self, h)

    def fibre(self, observed, free, angles):
        """h = +-B^-1 u, of weight 1 / det B."""
        h = np.linalg.solve(self.transfer, observed.T).T
        shape = (*free.shape[:2], 2)
        candidates = np.broadcast_to(np.stack([h, -h], axis=1)[:, None, :, None], (*shape, 1, self.tokens))
        return candidates, np.full(shape, -np.linalg.slogdet(self.transfer)[1])


def depth_errors(ratio, depth, beta, tokens, samples, generator):
    """How far both limits are from the model, at c = depth / ratio and on the same fields.

    Parameters
    ----------
    ratio, beta : float
        kappa > 0 and beta > 0.
    depth, tokens : int
        L and M.
    samples : int
        Number of random fields.
    generator : numpy.random.Generator

    Returns
    -------
    committee, large_depth : array (samples,)
        Squared difference of the outputs, mean over the M^2 entries. The limit c -> infinity reads the last layer.
    """
    h = generator.standard_normal((samples, depth, tokens))
    y = RescaledAttention(depth, ratio, beta, tokens).forward(h)
    committee = CommitteeDepth(depth, ratio, beta, tokens).forward(h)
    limit = LargeDepth(ratio, beta, tokens).forward(h[:, -1:])
    return tuple(np.mean((approximation - y) ** 2, axis=(1, 2)) for approximation in (committee, limit))
