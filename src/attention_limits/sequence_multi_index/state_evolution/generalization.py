"""Generalisation errors on a fresh sequence, as functions of the overlaps alone.

On a new sequence the teacher's fields h and the student's are jointly Gaussian, independent over tokens. Two errors,

    plug-in:  E ||g(h) - g(omega)||_F^2          (the network with the weights W_hat; omega = W_hat x / sqrt(D))
    Bayes:    E ||g(h) - E[g(h) | omega]||_F^2   (the posterior mean of the output, the least possible)

summed over the entries of the output, without its noise. The mean is missing where few nodes carry it (outputs with heavy tails:
high powers of the fields): a part of it would lie beyond all nodes. The published curves (Troiani et al. 2025,
arXiv:2502.00901) are plug-in errors in this normalisation. They are not defined for links with spikes, whose outputs
depend on more than the fields.
"""

import numpy as np

from attention_limits.numerics.simd.aligned_arrays import NUMBERS_AT_ONCE
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.priors.overlaps import symmetric_root

# A mean with fewer effective nodes is missing.
FEWEST_NODES = 20.0
# Nodes of the test error of a simulation, given its overlaps: they make it exact to about 1e-3 of itself.
ERROR_NODES = 8192


def _squared_distance(link, first, cross, second, nodes):
    """E ||g(h) - g(h')||_F^2 for fields of covariances `first`, `second` and cross-covariance `cross` = E h h'^T, (P, P) each."""
    if hasattr(link, "spikes"):
        return np.nan
    size = link.rows
    root = symmetric_root(np.block([[first, cross], [cross.T, second]]))
    points = nodes.points.reshape(len(nodes), 2 * size, link.tokens)
    fields = np.einsum("pq,nqa->npa", root, points)
    # An overflow ends as a missing mean.
    with np.errstate(over="ignore", invalid="ignore"):
        # One layer of a part holds at most NUMBERS_AT_ONCE numbers.
        parts = np.array_split(fields, -(-fields.size * link.tokens // NUMBERS_AT_ONCE))
        values = nodes.weights * np.concatenate([_distances(link, part[:, :size], part[:, size:]) for part in parts])
        effective = np.sum(values) ** 2 / np.sum(values**2) if np.any(values) else np.inf
    return float(values.mean()) if effective >= FEWEST_NODES else np.nan


def _distances(link, first, second):
    """||g(h) - g(h')||_F^2 of fields (n, P, M) each, array (n,)."""
    difference = link.forward(first) - link.forward(second)
    return np.sum(difference.reshape(len(first), -1) ** 2, axis=1)


def plug_in_error(link, teacher_norm, overlap, norm, nodes):
    """Error of the network with the weights W_hat.

    Parameters
    ----------
    link : Link
        Its forward pass alone is used.
    teacher_norm, overlap, norm : array (P, P)
        W W^T / D, W_hat W^T / D (estimate, teacher) and W_hat W_hat^T / D. Under state evolution: E w w^T, Q and Q.
    nodes : GaussianNodes
        In 2 P M dimensions.

    Returns
    -------
    float
        E ||g(h) - g(omega)||_F^2; NaN where fewer than FEWEST_NODES effective nodes carry it.
    """
    return _squared_distance(link, teacher_norm, overlap.T, norm, nodes)


def bayes_error(link, overlap, nodes, prior=None):
    """Least error at an overlap: half the squared distance of two posterior draws, of cross-covariance Q.

    Parameters
    ----------
    link : Link
        Its forward pass alone is used.
    overlap : array (P, P)
        Q.
    nodes : GaussianNodes
        In 2 P M dimensions.
    prior : priors.Prior, optional
        Standard normal weights by default.

    Returns
    -------
    float
        E ||g(h) - E[g(h) | omega]||_F^2; NaN as in `plug_in_error`.
    """
    teacher = as_prior(prior, link).second_moment
    return 0.5 * _squared_distance(link, teacher, overlap, teacher, nodes)
