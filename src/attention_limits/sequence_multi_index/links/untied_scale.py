"""Untied attention of one head that reads three or more tokens: the output leaves two numbers free.

The model is that of Troiani et al. 2025 (arXiv:2502.00901); the inversion is derived in this module. With the keys k and queries
q that the last layer reads, log(y_aa / y_ab) / beta = q_a (k_a - k_b) for all b != a. For M >= 3 tokens the ratios fix k up to
its mean t and a factor: k = lambda kappa + t 1 with sum_a kappa_a = 0 and |kappa| = 1, and q = theta / lambda. The numbers
lambda != 0 and t are free, and

    dk dq = sqrt(M) lambda^-2 dlambda dt dkappa dtheta,

dkappa the surface of the sphere in M - 1 dimensions. At zero overlap lambda^2 given y has the inverse Gaussian law of mean
|theta| and shape |theta|^2, so E[k k^T] = |theta| kappa kappa^T + 1 1^T / M, E[k q^T] = kappa theta^T, and E[q q^T] =
(1 / |theta| + 1 / |theta|^2) theta theta^T. For one layer the linear response in the overlaps of k and q is
((M-1)^2, M(M-1); M(M-1), M^2-1), and so 1 / alpha_c = (M - 1) (M + sqrt(M^2 + 1)), for two tokens too.
"""

import numpy as np

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
