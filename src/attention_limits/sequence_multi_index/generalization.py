"""Generalisation errors on a fresh sequence, as functions of the overlaps alone.

On a new sequence the teacher's fields h and the student's are jointly Gaussian, independent over tokens. Two errors,

    plug-in:  E ||g(h) - g(omega)||_F^2          (the network with the weights W_hat; omega = W_hat x / sqrt(D))
    Bayes:    E ||g(h) - E[g(h) | omega]||_F^2   (the posterior mean of the output, the least possible)

summed over the M x M entries of the output. The published curves (Troiani et al. 2025, arXiv:2502.00901) are plug-in errors
in this normalisation.
"""

import numpy as np

from attention_limits.sequence_multi_index.state_evolution import symmetric_root


def _squared_distance(model, first, cross, second, nodes):
    """E ||g(h) - g(h')||_F^2 for fields of covariances `first`, `second` and cross-covariance `cross` = E h h'^T, (P, P) each."""
    size = model.layers
    root = symmetric_root(np.block([[first, cross], [cross.T, second]]))
    points = nodes.points.reshape(len(nodes), 2 * size, model.tokens)
    fields = np.einsum("pq,nqa->npa", root, points)
    return float(
        nodes.mean(np.sum((model.forward(fields[:, :size]) - model.forward(fields[:, size:])) ** 2, axis=(1, 2)))
    )


def plug_in_error(model, teacher_norm, overlap, norm, nodes):
    """Error of the network with the weights W_hat.

    Parameters
    ----------
    teacher_norm, overlap, norm : array (P, P)
        W W^T / D, W_hat W^T / D (estimate, teacher) and W_hat W_hat^T / D. Under state evolution: I, Q and Q.
    nodes : GaussianNodes
        In 2 P M dimensions.
    """
    return _squared_distance(model, teacher_norm, overlap.T, norm, nodes)


def bayes_error(model, overlap, nodes):
    """Least error at the overlap Q (P, P): half the squared distance of two posterior draws, of cross-covariance Q.

    nodes are in 2 P M dimensions.
    """
    identity = np.eye(model.layers)
    return 0.5 * _squared_distance(model, identity, overlap, identity, nodes)
