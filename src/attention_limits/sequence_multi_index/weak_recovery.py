"""Weak recovery from nothing: the alpha at which zero overlap becomes unstable under the state evolution.

Linearising Q <- alpha E sum_a g_a g_a^T around Q = 0 gives Q <- alpha F(Q) with, for T_{pa,qb} = E[h_pa h_qb | y] - delta,

    F(Q) = E_y sum_{ab} T_ab Q T_ab^T   on the symmetric P x P matrices,

so that alpha_c = 1 / ||F|| (Troiani et al. 2025, arXiv:2502.00901). F maps positive matrices to positive ones: its leading
eigenmatrix is the subspace learnt first. If the output knows the sign of a field, E g_a g_a^T does not vanish at Q = 0, and
that direction is learnt from any alpha > 0 on. What is learnt next, and when, is in `staircase`.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.channel import Channel, denoiser
from attention_limits.sequence_multi_index.state_evolution import sample_outputs

# Numbers count as different above this many standard errors, over the nodes, of their difference.
SIGNIFICANT = 4.0
# E g g^T at zero overlap below this is the error of the shared sampling nodes, squared, not knowledge of a sign.
SMALLEST_INFORMATION = 0.02
# Eigenvalues closer than the first fraction are taken for one, since the sampling nodes that all outputs share put an error of
# this order on each; those further apart than the second never are, however few the nodes.
SAME, DIFFERENT = 0.03, 0.05


def excess_moments(moments, V, subspace):
    """T_ab of a subspace of unlearnt rows, in the two estimates of the posterior.

    Perturbing omega by rows W m gives W^T g_a = sum_b T_ab m_b with T_ab = W^T (V^-1 Cov(h_a, h_b | y) V^-1 - delta_ab V^-1) W.

    Parameters
    ----------
    moments : channel.Posterior
        For outputs drawn from the model at overlap I - V.
    V : array (P, P)
        The identity on the subspace.
    subspace : array (P, k)
        W, orthonormal columns.

    Returns
    -------
    array (2, n, M, M, k, k)
    """
    tokens = moments.means.shape[3]
    projection = np.linalg.solve(V, subspace)
    covariance = np.einsum("pi,enpaqb,qj->enabij", projection, moments.covariances, projection, optimize=True)
    return covariance - np.einsum("pi,pj,ab->abij", projection, subspace, np.eye(tokens))


def linear_response(excess, weights, directions):
    """F on symmetric matrices of a subspace of unlearnt rows.

    Parameters
    ----------
    excess : array (2, n, M, M, k, k)
        From `excess_moments`.
    weights : array (n,)
        Importance weights of the outputs.
    directions : array (j, k, k)

    Returns
    -------
    array (j, k, k)
        F applied to each, symmetric.
    """
    weighted = weights[:, None, None, None, None] * excess[0]
    image = np.einsum("nabij,djk,nablk->dil", weighted, directions, excess[1], optimize=True) / len(weights)
    return 0.5 * (image + image.transpose(0, 2, 1))


def symmetric_basis(size, diagonal=False):
    """Orthonormal basis (j, k, k) of the symmetric or of the diagonal k x k matrices, in which F is a symmetric matrix.

    `size` is k; j = k if `diagonal`, else k (k + 1) / 2.
    """
    rows, columns = np.diag_indices(size) if diagonal else np.triu_indices(size)
    basis = np.zeros((len(rows), size, size))
    for k, (p, q) in enumerate(zip(rows, columns, strict=True)):
        basis[k, p, q] = basis[k, q, p] = 1.0 if p == q else np.sqrt(0.5)
    return basis


@dataclass(frozen=True)
class Instability:
    """Leading eigenvalue of F and what grows with it.

    Attributes
    ----------
    eigenvalue : float
    direction : array (k, k)
        The matrix that grows, positive semi-definite up to sampling noise, of unit trace. If several eigenvalues cannot be told
        apart it is the projection of the identity on their eigenmatrices.
    """

    eigenvalue: float
    direction: np.ndarray


def leading_instability(moments, V, subspace, weights, diagonal) -> Instability:
    """Largest eigenvalue of F on a subspace.

    Parameters
    ----------
    moments, V, subspace
        As of `excess_moments`.
    weights : array (n,)
        As of `linear_response`.
    diagonal : bool
        Restrict F to the diagonal matrices, for links in which every row's sign is free.
    """
    basis = symmetric_basis(subspace.shape[1], diagonal)
    excess = excess_moments(moments, V, subspace)
    images = linear_response(excess, weights, basis)
    matrix = np.einsum("jpq,kpq->jk", basis, images)
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    found = np.einsum("kj,kpq->jpq", vectors, basis)
    # What each output contributes to every eigenvalue: differences from the largest have an error of their own.
    share = np.einsum("nabij,djk,nablk,dil->nd", excess[0], found, excess[1], found, optimize=True) * weights[:, None]
    lag = share[:, -1:] - share
    noise = SIGNIFICANT * lag.std(axis=0) / np.sqrt(len(lag))
    same = lag.mean(axis=0) <= np.clip(noise, SAME * abs(values[-1]), DIFFERENT * abs(values[-1]))
    direction = np.einsum("j,jpp,jqr->qr", same.astype(float), found, found)
    return Instability(float(values[same].mean()), direction / np.trace(direction))


@dataclass(frozen=True)
class FirstThreshold:
    """Weak-recovery threshold and what is learnt there.

    Attributes
    ----------
    alpha : float
        0: learnt from any alpha on; infinite: zero overlap is stable at every alpha.
    direction : array (P, P)
        Of unit trace.
    resolved : float
        Fraction of outputs whose channel met its check.
    """

    alpha: float
    direction: np.ndarray
    resolved: float


def first_threshold(channel: Channel, nodes) -> FirstThreshold:
    """Threshold at which zero overlap becomes unstable, on the given nodes.

    Parameters
    ----------
    channel : Channel
    nodes : GaussianNodes
        In `state_evolution.node_dimension(channel.link)` dimensions.
    """
    size = channel.link.rows
    identity = np.eye(size)
    omega, observed = sample_outputs(channel.link, np.zeros((size, size)), identity, nodes.points)
    moments = channel.posterior(observed, omega, identity)
    resolved = float(moments.resolved.mean())
    if channel.link.sign_symmetry == "none":
        (first, second), _ = denoiser(moments, identity)
        products = nodes.weights[:, None, None] * np.einsum("npa,nqa->npq", first, second)
        values, vectors = np.linalg.eigh(products.mean(axis=0) + products.mean(axis=0).T)
        along = np.einsum("p,npq,q->n", vectors[:, -1], products, vectors[:, -1])
        if 0.5 * values[-1] > max(SIGNIFICANT * along.std() / np.sqrt(len(along)), SMALLEST_INFORMATION):
            known = (vectors * (values > 1e-3 * values[-1]) * values) @ vectors.T
            return FirstThreshold(0.0, known / np.trace(known), resolved)
    found = leading_instability(moments, identity, identity, nodes.weights, channel.link.sign_symmetry == "rows")
    return FirstThreshold(1.0 / found.eigenvalue if found.eigenvalue > 0 else np.inf, found.direction, resolved)
