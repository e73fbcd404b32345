"""Generalisation errors on a fresh sequence, as functions of the overlap alone.

For a new sequence the estimate's fields are omega ~ N(0, Q) and the teacher's h ~ N(omega, I - Q), per token. Two errors,

    plug-in:  E ||g(h) - g(omega)||_F^2          (the network with the weights W_hat)
    Bayes:    E ||g(h) - E[g(h) | omega]||_F^2   (the posterior mean of the output, the least possible)

summed over the M x M entries of the output. The published curves (Troiani et al. 2025, arXiv:2502.00901) are plug-in errors
in this normalisation.
"""

import numpy as np

from attention_limits.sequence_multi_index.state_evolution import sample_fields


def error_dimension(model):
    """Number of Gaussian variables per node: omega and two copies of h given omega, each (P, M)."""
    return 3 * model.layers * model.tokens


def generalization_errors(model, overlap, nodes):
    """(plug-in error, Bayes error) at the overlap Q (P, P), on nodes in `error_dimension(model)` dimensions.

    The Bayes error is half the squared distance of two independent posterior draws.
    """
    omega, h, copy = sample_fields(model, overlap, np.eye(len(overlap)) - overlap, nodes.points)
    y = model.forward(h)
    plug_in = np.sum((y - model.forward(omega)) ** 2, axis=(1, 2))
    bayes = 0.5 * np.sum((y - model.forward(copy)) ** 2, axis=(1, 2))
    return float(nodes.mean(plug_in)), float(nodes.mean(bayes))
