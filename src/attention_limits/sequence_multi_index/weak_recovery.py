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

# E g g^T at zero overlap counts as different from zero above this many of its standard errors over the nodes.
SIGNIFICANT = 5.0


def linear_response(moments, V, subspace, weights, directions):
    """F on symmetric matrices of a subspace of unlearnt rows.

    Perturbing omega by rows W m gives W^T g_a = sum_b T_ab m_b with T_ab = W^T (V^-1 Cov(h_a, h_b | y) V^-1 - delta_ab V^-1) W.

    Parameters
    ----------
    moments : channel.Posterior
        For outputs drawn from the model at overlap I - V.
    V : array (P, P)
        The identity on the subspace.
    subspace : array (P, k)
        W, orthonormal columns.
    weights : array (n,)
        Importance weights of the outputs.
    directions : array (j, k, k)

    Returns
    -------
    array (j, k, k)
        F applied to each, symmetric.
    """
    tokens = moments.means.shape[3]
    projection = np.linalg.solve(V, subspace)
    first, second = np.einsum("pi,enpaqb,qj->enabij", projection, moments.covariances, projection, optimize=True)
    rest = np.einsum("pi,pj,ab->abij", projection, subspace, np.eye(tokens))
    weighted = weights[:, None, None, None, None] * (first - rest)
    image = np.einsum("nabij,djk,nablk->dil", weighted, directions, second - rest, optimize=True) / len(weights)
    return 0.5 * (image + image.transpose(0, 2, 1))


def symmetric_basis(size, diagonal=False):
    """Orthonormal basis (j, k, k) of the symmetric or of the diagonal k x k matrices, in which F is a symmetric matrix."""
    rows, columns = np.diag_indices(size) if diagonal else np.triu_indices(size)
    basis = np.zeros((len(rows), size, size))
    for k, (p, q) in enumerate(zip(rows, columns, strict=True)):
        basis[k, p, q] = basis[k, q, p] = 1.0 if p == q else np.sqrt(0.5)
    return basis


@dataclass(frozen=True)
class Instability:
    """Leading eigenvalue of F and its eigenmatrix (k, k), positive semi-definite up to sampling noise, of unit trace."""

    eigenvalue: float
    direction: np.ndarray


def leading_instability(moments, V, subspace, weights, diagonal) -> Instability:
    """Largest eigenvalue of `linear_response`, same parameters; on the diagonal matrices alone if `diagonal`."""
    basis = symmetric_basis(subspace.shape[1], diagonal)
    images = linear_response(moments, V, subspace, weights, basis)
    matrix = np.einsum("jpq,kpq->jk", basis, images)
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    direction = np.einsum("k,kpq->pq", vectors[:, -1], basis)
    return Instability(float(values[-1]), direction / np.trace(direction))


@dataclass(frozen=True)
class FirstThreshold:
    """Weak-recovery threshold alpha (0: learnt from any alpha on) and the direction (P, P) learnt there, of unit trace.

    resolved : fraction of outputs whose channel met its check.
    """

    alpha: float
    direction: np.ndarray
    resolved: float


def first_threshold(channel: Channel, nodes) -> FirstThreshold:
    """Threshold at which zero overlap becomes unstable, on the given nodes.

    Parameters
    ----------
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
        if 0.5 * values[-1] > SIGNIFICANT * along.std() / np.sqrt(len(along)) + 1e-12:
            known = (vectors * (values > 1e-3 * values[-1]) * values) @ vectors.T
            return FirstThreshold(0.0, known / np.trace(known), resolved)
    found = leading_instability(moments, identity, identity, nodes.weights, channel.link.sign_symmetry == "rows")
    return FirstThreshold(1.0 / found.eigenvalue if found.eigenvalue > 0 else np.inf, found.direction, resolved)
