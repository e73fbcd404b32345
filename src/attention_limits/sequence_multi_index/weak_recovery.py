"""Weak-recovery thresholds: the alpha at which zero overlap becomes unstable under the state evolution.

Linearising Q <- alpha E sum_a g_a g_a^T around Q = 0 gives Q <- alpha F(Q) with, for T_{pa,qb} = E[h_pa h_qb | y] - delta,

    F(Q) = E_y sum_{ab} T_ab Q T_ab^T   on the symmetric P x P matrices,

so that alpha_c = 1 / ||F|| (Troiani et al. 2025, arXiv:2502.00901). F maps positive matrices to positive ones: its leading
eigenmatrix is the subspace learnt first.

For two layers the last one is learnt first, at alpha_2. The first is learnt at alpha_1 on the branch on which the second
already has its overlap Q_22*(alpha): alpha_1 f_11(Q_22*(alpha_1)) = 1 with f_11 = E ||E[z_1 z_1^T | y, omega_2] - I||_F^2.
The limits Q_22 -> 1 and alpha -> alpha_1 do not commute: setting Q_22 = 1 by hand gives another, smaller number.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from attention_limits.numerics.estimators import combine_unbiased
from attention_limits.sequence_multi_index.channel import denoiser, posterior
from attention_limits.sequence_multi_index.state_evolution import sample_fields


def linear_response(moments, weights, overlap_directions):
    """F on given symmetric matrices.

    Parameters
    ----------
    moments : channel.Posterior
        At omega = 0 and V = I for outputs y drawn from the model, P layers, M tokens.
    weights : array (n,)
        Importance weights of the outputs.
    overlap_directions : array (k, P, P)

    Returns
    -------
    array (k, P, P)
        F applied to each.
    """
    tokens = moments.mean.shape[2]
    second = moments.covariance + np.einsum("npa,nqb->npaqb", moments.mean, moments.mean)
    excess = second - np.einsum("pq,ab->paqb", np.eye(second.shape[1]), np.eye(tokens))
    weighted = weights[:, None, None, None, None] * excess
    return np.einsum("npaqb,kqr,nsarb->kps", weighted, overlap_directions, excess, optimize=True) / len(weights)


@dataclass(frozen=True)
class Instability:
    """Largest eigenvalue of F: `alpha` = 1 / eigenvalue, and the eigenmatrix (P, P), positive semi-definite, of unit trace."""

    alpha: float
    direction: np.ndarray


def first_instability(model, nodes, resolution=1.0) -> Instability:
    """Weak-recovery threshold from Q = 0 and the subspace that is learnt there, on the given nodes.

    Parameters
    ----------
    model : DeepAttention
    nodes : GaussianNodes
        In `state_evolution.node_dimension(model)` dimensions.
    resolution : float
        Accuracy of the channel quadrature.

    Raises
    ------
    ValueError
        If the exact channel does not cover the model (see `channel.posterior`).
    """
    size = model.layers
    omega, h = sample_fields(model, np.zeros((size, size)), np.eye(size), nodes.points)
    moments = posterior(model, model.preactivation(h), omega, np.eye(size), resolution)
    rows, columns = np.triu_indices(size)
    # Orthonormal basis of the symmetric matrices, in which F is a symmetric matrix.
    basis = np.zeros((len(rows), size, size))
    for k, (p, q) in enumerate(zip(rows, columns, strict=True)):
        basis[k, p, q] = basis[k, q, p] = 1.0 if p == q else np.sqrt(0.5)
    images = linear_response(moments, nodes.weights, basis)
    values, vectors = np.linalg.eigh(np.einsum("jpq,kpq->jk", basis, images))
    direction = np.einsum("k,kpq->pq", vectors[:, -1], basis)
    return Instability(1.0 / values[-1], direction / np.trace(direction))


@dataclass(frozen=True)
class BranchPoint:
    """State evolution on the branch Q_11 = 0 at a given Q_22.

    Attributes
    ----------
    alpha : float
        The alpha at which Q_22 is the fixed point of the branch.
    growth : float
        alpha f_11: factor by which a small Q_11 grows per iteration.
    """

    alpha: float
    growth: float


def unlearnt_first_layer(model, overlap, nodes, resolution=1.0) -> BranchPoint:
    """The branch Q_11 = 0 parametrised by Q_22, on the given nodes.

    A fixed point satisfies Q_22 / (1 - Q_22) = alpha E sum_a g_2a^2, so that alpha follows from Q_22 without iteration.

    Parameters
    ----------
    overlap : float
        0 < Q_22 < 1.
    """
    Q = np.diag([0.0, overlap])
    V = np.eye(2) - Q
    omega, h = sample_fields(model, Q, V, nodes.points)
    moments = posterior(model, model.preactivation(h), omega, V, resolution)
    g, dg = denoiser(moments, V)
    information = combine_unbiased(
        nodes.weights * np.einsum("na,na->n", g[:, 1], g[:, 1]), -nodes.weights * dg[:, 1, 1]
    ).mean()
    alpha = overlap / (1.0 - overlap) / information
    # Only layer 1 of omega moves: d<h_1a>/d omega_1b = (E[z_1a z_1b | y, omega_2] - delta_ab) as V_11 = 1 and V_12 = 0.
    excess = moments.covariance[:, 0, :, 0, :] - np.eye(model.tokens)
    return BranchPoint(alpha, alpha * nodes.mean(np.sum(excess**2, axis=(1, 2))))


def second_instability(model, nodes, resolution=1.0, tolerance=1e-4):
    """Threshold alpha_1 at which the first layer is learnt, and Q_22 there, on the given nodes.

    Parameters
    ----------
    model : DeepAttention
        Two layers, two tokens.
    tolerance : float
        Absolute accuracy of log(1 / (1 - Q_22)) at the root.

    Returns
    -------
    alpha, overlap : float
        NaN, NaN if the growth does not cross one for 0.001 <= Q_22 <= 0.99999: layer 1 is then not learnt on this branch, or
        before layer 2.
    """

    def log_growth(log_precision):
        return np.log(unlearnt_first_layer(model, -np.expm1(-log_precision), nodes, resolution).growth)

    # The root lies within Q_22 = 0.7 ... 0.999 for common skips; widen only when it does not, since the extremes are costly.
    low, high = -np.log(0.3), -np.log(1e-3)
    while log_growth(low) > 0:
        low *= 0.5
        if low < 1e-3:
            return np.nan, np.nan
    while log_growth(high) < 0:
        high += np.log(10.0)
        if high > -np.log(0.99e-5):
            return np.nan, np.nan
    root = brentq(log_growth, low, high, xtol=tolerance)
    overlap = -np.expm1(-root)
    return unlearnt_first_layer(model, overlap, nodes, resolution).alpha, overlap
