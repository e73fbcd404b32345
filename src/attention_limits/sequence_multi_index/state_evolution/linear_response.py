"""Linear response of the state evolution to a small overlap of unlearned rows, and its leading eigenvalue with its error.

With T_{pa,qb} = E[h_pa h_qb | y] - delta, F(Q) = E_y sum_{ab} T_ab Q T_ab^T on the symmetric matrices (Troiani et al. 2025,
arXiv:2502.00901). F maps positive matrices to positive ones. Differences of blocks of outputs show its noise: an eigenvalue
that the noise explains counts as zero, and eigenvalues whose difference it explains count as one.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import hadamard

# Blocks of the nodes; their BLOCKS - 1 contrasts give the errors.
BLOCKS = 8
# Resolution of a sampled channel on half of the nodes: half as many sampling nodes too, so that half shows the error of all.
HALF_OF_THE_NODES = 0.5**0.5
# An eigenvalue below this many norms of the noise is zero.
SIGNIFICANT = 4.0
# Eigenvalues count as one when they differ by less than this many errors of their difference, or norms of the noise: noise moves
# no eigenvalue by more than its norm, so two equal ones differ by two norms at most, and the error of the norm is half of it.
EQUAL_ERRORS, EQUAL_NORMS = 4.0, 3.0
# Eigenvalues below the largest by more than this share of it never count as one with it, even with few nodes.
MAX_EQUAL_LAG = 0.5
# On a branch, eigenvalues within this share of the largest one are averaged.
AVERAGED_LAG = 0.05
# Rounding errors of F.
ROUNDING = 1e-9
# A direction is positive when no eigenvalue is below minus this share of the largest one.
NEGATIVE_TOLERANCE = 0.05


def excess_moments(moments, V, subspace):
    """T_ab of a subspace of unlearned rows, in the two estimates of the posterior.

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
    """F on symmetric matrices of a subspace of unlearned rows.

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
    """Leading eigenvalue of F, and the matrix that grows with it.

    Attributes
    ----------
    eigenvalue : float
        The mean of those that the noise does not separate.
    error : float
        Its standard error; it holds the distance from the mean to the largest of them.
    growing : float
        The mean of those within AVERAGED_LAG of the largest: less noise than the largest alone where several are equal, and no
        more than AVERAGED_LAG below it where they are not, however few the nodes.
    noise : float
        Operator norm of the noise of F, root mean square: no eigenvalue of F is larger than `eigenvalue + error` by more than a
        few such norms.
    significant : bool
        Whether the largest eigenvalue exceeds SIGNIFICANT norms of the noise.
    direction : array (k, k)
        The matrix that grows, positive semi-definite and of unit trace: the projection of the identity on the leading
        eigenmatrices, which is positive for every F that keeps matrices positive. NaN where it is not significant.
    """

    eigenvalue: float
    error: float
    growing: float
    noise: float
    significant: bool
    direction: np.ndarray


def response_blocks(excess, weights, basis):
    """F as a matrix in a basis of the symmetric matrices, on each of BLOCKS successive blocks of outputs.

    Parameters
    ----------
    excess, weights
        As in `linear_response`; BLOCKS divides n.
    basis : array (j, k, k)
        From `symmetric_basis`.

    Returns
    -------
    array (BLOCKS, j, j)
    """
    parts = zip(np.split(excess, BLOCKS, axis=1), np.split(weights, BLOCKS), strict=True)
    return np.stack([response(part, weight, basis) for part, weight in parts])


def response(excess, weights, basis):
    """F as a matrix (j, j) in a basis (j, k, k) of the symmetric matrices; `excess` and `weights` as in `linear_response`."""
    matrix = np.einsum("jpq,kpq->jk", basis, linear_response(excess, weights, basis))
    return 0.5 * (matrix + matrix.T)


def contrasts(blocks):
    """Noise of a mean over blocks, array (BLOCKS, ...): BLOCKS - 1 draws of this noise, in which any constant cancels.

    They are half of the differences between two halves of the blocks, one draw per balanced choice of the halves (a Hadamard
    matrix). Blocks of a Sobol sequence complement each other, so that their mean is more exact than these draws.
    """
    return np.tensordot(hadamard(len(blocks))[1:] / len(blocks), blocks, axes=1)


def leading_instability(blocks, basis) -> Instability:
    """Largest eigenvalue of F with its error.

    Parameters
    ----------
    blocks : array (BLOCKS, j, j)
        From `response_blocks`.
    basis : array (j, k, k)
    """
    if not np.all(np.isfinite(blocks)):
        return Instability(np.nan, np.nan, np.nan, np.nan, False, np.full(basis.shape[1:], np.nan))
    values, vectors = np.linalg.eigh(blocks.mean(axis=0))
    found = np.einsum("kj,kpq->jpq", vectors, basis)
    draws = contrasts(blocks)
    noise = root_mean_square(np.linalg.norm(draws, 2, axis=(1, 2)))
    moves = np.einsum("pj,cpq,qj->cj", vectors, draws, vectors)
    lag = values[-1] - values
    margin = np.maximum(EQUAL_ERRORS * root_mean_square(moves[:, -1:] - moves), EQUAL_NORMS * noise)
    most = max(1, int(np.sum(lag <= MAX_EQUAL_LAG * values[-1])))
    count = min(most, int(np.sum(lag <= margin + ROUNDING)))
    # Some combination of the leading eigenmatrices is positive. If none is, noise has separated more eigenvalues: add the next.
    while True:
        direction = np.einsum("jpp,jqr->qr", found[-count:], found[-count:])
        spectrum = np.linalg.eigvalsh(direction)
        if (spectrum[-1] > 0 and spectrum[0] >= -NEGATIVE_TOLERANCE * spectrum[-1]) or count == most:
            break
        count += 1
    eigenvalue = values[-count:].mean()
    error = np.hypot(root_mean_square(moves[:, -count:].mean(axis=1)), values[-1] - eigenvalue)
    significant = bool(values[-1] > SIGNIFICANT * noise + ROUNDING)
    growing = values[lag <= AVERAGED_LAG * abs(values[-1])].mean()
    numbers = (float(number) for number in (eigenvalue, error, growing, noise))
    return Instability(*numbers, significant, positive_part(direction, significant))


def positive_part(direction, known=True):
    """Positive part of a matrix `direction` (k, k), of unit trace; NaN unless it is `known`."""
    values, vectors = np.linalg.eigh(direction)
    values = np.maximum(values, 0.0) if known else np.full(len(values), np.nan)
    return (vectors * (values / values.sum())) @ vectors.T


def root_mean_square(values):
    """Root of the mean square over the first axis of `values` (n, ...): array (...)."""
    return np.sqrt(np.mean(np.square(values), axis=0))
