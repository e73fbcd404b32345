"""Attention with untied queries and keys (Troiani et al. 2025, arXiv:2502.00901).

One head that reads three or more tokens leaves two numbers free (derived in this module). With the keys k and queries
q that the last layer reads, log(y_aa / y_ab) / beta = q_a (k_a - k_b) for all b != a. For M >= 3 tokens the ratios fix k up to
its mean t and a factor: k = lambda kappa + t 1 with sum_a kappa_a = 0 and |kappa| = 1, and q = theta / lambda. The numbers
lambda != 0 and t are free, and

    dk dq = sqrt(M) lambda^-2 dlambda dt dkappa dtheta,

dkappa the surface of the sphere in M - 1 dimensions. At zero overlap lambda^2 given y has the inverse Gaussian law of mean
|theta| and shape |theta|^2, so E[k k^T] = |theta| kappa kappa^T + 1 1^T / M, E[k q^T] = kappa theta^T, and E[q q^T] =
(1 / |theta| + 1 / |theta|^2) theta theta^T. For one layer the linear response in the overlaps of k and q is
((M-1)^2, M(M-1); M(M-1), M^2-1), and so 1 / alpha_c = (M - 1) (M + sqrt(M^2 + 1)), for two tokens too.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.numerics.solvers.small_systems import solve
from attention_limits.sequence_multi_index.links.attention.base import AttentionLayers
from attention_limits.sequence_multi_index.links.attention.layers import apply, inverse_of_two, softmax_rows


@dataclass(frozen=True)
class UntiedAttention(AttentionLayers):
    """Layers with a key row k_l and a query row q_l: S_l = softmax_rows(beta (q_l B_{l-1})^T (k_l B_{l-1})), y = S_L.

    Rows k_1, q_1, ..., k_L, q_L: P = 2 L. B_l as in `deep`. For the last layer, with the fields that it reads,
    log(y_11 / y_12) / beta = q_1 (k_1 - k_2) and log(y_22 / y_21) / beta = q_2 (k_2 - k_1): given everything but q_L the output
    fixes q_L, with the weight 1 / ((k_1 - k_2)^2 |det B_{L-1}|) in the density of these two. Only key and query of a layer
    together can change sign. For three and more tokens see the module.
    skip, beta, depth and tokens are those of `AttentionLayers`.
    """

    skip: float = 1.0
    beta: float = 1.0
    depth: int = 1
    tokens: int = 2

    sign_symmetry = "all"

    @property
    def rows(self):
        """P = 2 L."""
        return 2 * self.depth

    @property
    def student(self):
        """Layers of one head with two rows; see `Link`."""
        return "attention", (self.depth, 1, self.tokens, self.skip, self.beta, 1, 1, 0)

    @property
    def free_rows(self):
        """All but the last query, for more than two tokens all but the last layer."""
        return self.rows - (1 if self.tokens == 2 else 2)

    @property
    def angles(self):
        """The factor and the mean of the last keys, for more than two tokens."""
        return 0 if self.tokens == 2 else 2

    def _attention(self, read):
        return softmax_rows(self.beta * read[..., 1, :, None] * read[..., 0, None, :])

    def observe(self, h, noise=None):
        """What y determines, known more exactly.

        For two tokens (q_1 (k_1 - k_2), q_2 (k_2 - k_1)) of the last layer, array (n, 2); else `invariants` (n, 2, M).
        """
        if self.tokens != 2:
            return invariants(self._last(h))
        key, query = np.moveaxis(self._last(h), -2, 0)
        return query * (key - key[..., ::-1])

    def log_volume(self, h):
        """That of the log-ratios -> (y_12, y_21) for two tokens; unknown (NaN) for more; see `Link`."""
        return self._volume_of_ratios(h)

    def fibre(self, observed, free, angles):
        """The one candidate of the last query, or those of the last layer; see `Link` and the class."""
        if self.tokens != 2:
            return self._scaled(observed, free, angles)
        transposed = self._transfer(free)
        inverse, log_det = inverse_of_two(transposed)
        key = apply(transposed, free[..., -1, :])
        difference = key - key[..., ::-1]
        query = apply(inverse, observed[:, None] / difference)
        log_weight = -2.0 * np.log(np.abs(difference[..., 0])) - log_det
        return query[:, :, None, None, :], np.where(np.isfinite(log_det), log_weight, -np.inf)[:, :, None]

    def _scaled(self, observed, free, angles):
        """The fibre for three or more tokens."""
        transposed = self._transfer(free)
        read, log_weight = keys_and_queries(observed, angles, (1.0 + self.skip) ** (self.depth - 1))
        last, log_determinant = solve(transposed[:, :, None], np.swapaxes(read, -1, -2))
        log_weight = np.where(np.isfinite(log_determinant), log_weight - 2.0 * log_determinant, -np.inf)
        return np.swapaxes(last, -1, -2), log_weight


# Width of the logarithm of lambda over that of its law at zero overlap, and the largest one.
WIDENING, WIDEST = 1.3, 1.0


def invariants(read):
    """(kappa, theta), array (n, 2, M), of `read` (n, 2, M), the keys and queries that the last layer reads.

    The sign of both together is free: the largest entry of kappa is positive.
    """
    key, query = read[:, 0], read[:, 1]
    key = key - key.mean(axis=1, keepdims=True)
    largest = np.take_along_axis(key, np.abs(key).argmax(axis=1)[:, None], axis=1)
    scale = np.sign(largest) * np.linalg.norm(key, axis=1, keepdims=True)
    return np.stack([key / scale, query * scale], axis=1)


def keys_and_queries(observed, nodes, width):
    """Keys and queries as read at some lambda and t of each node, with their log-weights.

    Parameters
    ----------
    observed : array (n, 2, M)
        From `invariants`.
    nodes : array (S, 2)
        Standard normal variables of log |lambda| and t.
    width : float
        Of t sqrt(M) under the prior.

    Returns
    -------
    read : array (n, S, 4, 2, M)
        Both signs of lambda, each with the node of log |lambda| and its negative.
    log_weight : array (n, S, 4)
    """
    kappa, theta = observed[:, 0], observed[:, 1]
    tokens = kappa.shape[1]
    length = np.linalg.norm(theta, axis=1)
    spread = np.minimum(WIDENING * 0.5 / np.sqrt(length), WIDEST)
    step = spread[:, None] * nodes[:, 0]
    log_size = 0.5 * np.log(length)[:, None, None] + np.stack([step, -step, step, -step], axis=2)
    factor = np.array([1.0, 1.0, -1.0, -1.0]) * np.exp(log_size)
    t = width / np.sqrt(tokens) * nodes[:, 1]
    keys = factor[..., None] * kappa[:, None, None] + t[:, None, None]
    queries = theta[:, None, None] / factor[..., None]
    # Both nodes of a sign have half of the weight.
    log_node = 0.5 * np.sum(nodes**2, axis=1) + np.log(2.0 * np.pi) - np.log(2.0) + np.log(width)
    log_weight = log_node[:, None] + np.log(spread)[:, None, None] - log_size
    return np.stack([keys, queries], axis=3), log_weight
