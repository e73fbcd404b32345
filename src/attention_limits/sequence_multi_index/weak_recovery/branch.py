"""One point of a branch of the state evolution, whose overlap is confined to a subspace (see `staircase`).

Source: Troiani et al. 2025, arXiv:2502.00901; the equations of a branch are derived in `staircase`.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from attention_limits.numerics.probability.statistics import combine_unbiased
from attention_limits.numerics.solvers.fixed_point import iterate
from attention_limits.sequence_multi_index.channels.averages import sample_outputs
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.channels.posterior import denoiser
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.priors.overlaps import from_coordinates, symmetrized, to_coordinates
from attention_limits.sequence_multi_index.priors.prior import Prior
from attention_limits.sequence_multi_index.state_evolution.linear_response import (
    excess_moments,
    leading_instability,
    response_blocks,
    symmetric_basis,
)
from attention_limits.sequence_multi_index.weak_recovery.known import overlap_beside

# Eigenvectors of an eigenmatrix with less than this share of its largest eigenvalue are sampling noise, not learned.
SMALLEST_SHARE = 0.05
# Smallest diagonal of Q_hat on a branch: a direction that has just become unstable must not be lost below the sampling noise.
SMALLEST_PRECISION = 1e-3
# Largest accepted relative change of Q_hat per iteration of its shape.
SHAPE_TOLERANCE = 1e-3
# A branch is followed up to this level per learned direction, 1 - Q = 2e-5 for Gaussian weights; beyond it, it is known.
HIGHEST_LEVEL = 11.0


@dataclass(frozen=True)
class BranchPoint:
    """State evolution with the overlap confined to a subspace, at one level.

    Attributes
    ----------
    alpha : float
        The alpha at which this is the fixed point of the branch.
    precision : array (k, k)
        Q_hat in the basis of the subspace.
    growth : float
        alpha r ||F_rest||, r = `Prior.response`: factor by which a small overlap outside of the subspace grows per iteration.
    converged : bool
        Whether the shape of Q_hat at this level converged.
    resolved : float
        Fraction of outputs whose channel met its check.
    """

    alpha: float
    precision: np.ndarray
    growth: float
    converged: bool
    resolved: float


def branch_point(
    channel: Channel, nodes, subspace, level, start, tolerance=SHAPE_TOLERANCE, prior: Prior | None = None, known=None
) -> BranchPoint:
    """The point of a branch at a level.

    Parameters
    ----------
    channel : Channel
    nodes : GaussianNodes
        In `averages.node_dimension(channel.link)` dimensions.
    subspace : array (P, k)
        U of the whitened rows, orthonormal columns, k < P.
    level : float
        log det(I + Q_hat) > 0.
    start : array (k, k)
        Q_hat to start from, any level; its shape alone is iterated.
    tolerance : float
        Largest accepted relative change of Q_hat per iteration, which is damped by one half.
    prior : Prior, optional
        Standard normal weights by default.
    known : array (P, j), optional
        Directions orthogonal to the subspace that are recovered; none by default.
    """
    prior, size = as_prior(prior, channel.link), subspace.shape[1]
    known = np.zeros((channel.link.rows, 0)) if known is None else known
    everything = np.concatenate([subspace, known], axis=1)
    columns, symmetry = prior.root @ subspace, prior.symmetry(channel.link)
    last = {}

    def moments_at(precision):
        overlap = overlap_beside(known, subspace, precision, prior)
        V = prior.second_moment - 0.5 * (overlap + overlap.T)
        omega, observed = sample_outputs(channel.link, overlap, V, nodes.points)
        return channel.posterior(observed, omega, V), V

    def step(coordinates):
        moments, V = moments_at(from_coordinates(coordinates, size))
        (first, second), dg = denoiser(moments, V)
        weights = nodes.weights[:, None, None]
        product = np.einsum("pi,npa,nqa,qj->nij", columns, first, second, columns, optimize=True)
        squares = 0.5 * weights * (product + product.transpose(0, 2, 1))
        slopes = weights * (columns.T @ (channel.spikes - dg) @ columns)
        information = symmetrized(symmetry, combine_unbiased(squares, slopes).mean(axis=0))
        if not np.all(np.isfinite(information)):
            return np.full_like(coordinates, np.nan)
        alpha = _alpha_at_level(np.linalg.eigvalsh(information), level)
        last.update(alpha=alpha, moments=moments, V=V)
        # At a fixed level one direction gains and another loses: without damping the shape would swing.
        return 0.5 * (coordinates + to_coordinates(alpha * information, SMALLEST_PRECISION))

    scale = _alpha_at_level(np.linalg.eigvalsh(start), level)
    first = to_coordinates(scale * start, SMALLEST_PRECISION)
    outcome = iterate(step, first, tolerance, 1 if size == 1 else 200, lookahead=4)
    if not last or not np.all(np.isfinite(outcome.value)):
        return BranchPoint(np.nan, np.full((size, size), np.nan), np.nan, False, 0.0)
    rest = complement(everything)
    basis = symmetric_basis(rest.shape[1], symmetry == "rows")
    excess = excess_moments(last["moments"], last["V"], prior.root @ rest)
    found = leading_instability(response_blocks(excess, nodes.weights, basis), basis)
    return BranchPoint(
        last["alpha"],
        from_coordinates(outcome.value, size),
        last["alpha"] * prior.response * found.growing,
        # In one dimension the level fixes Q_hat: there is no shape that could move.
        bool(size == 1 or outcome.converged),
        float(last["moments"].resolved.mean()),
    )


def _alpha_at_level(eigenvalues, level):
    """alpha with sum_i log(1 + alpha e_i) = level, for eigenvalues whose largest one is positive."""
    positive = np.maximum(eigenvalues, 0.0)
    largest = positive.max()
    if not largest > 0:
        return np.nan
    # The largest eigenvalue alone gives an upper, and k times it a lower bound.
    high = np.expm1(level) / largest
    low = np.expm1(level / len(positive)) / largest
    if high <= low * (1.0 + 1e-12):
        return high
    return brentq(lambda alpha: np.sum(np.log1p(alpha * positive)) - level, low * (1 - 1e-9), high * (1 + 1e-9))


def principal(direction):
    """Orthonormal columns (P, k) that span the eigenmatrix `direction` (P, P), without its eigenvalues below SMALLEST_SHARE."""
    values, vectors = np.linalg.eigh(direction)
    return vectors[:, values > SMALLEST_SHARE * values[-1]]


def complement(subspace):
    """Orthonormal columns of the space orthogonal to the columns of `subspace` (P, k)."""
    return principal(np.eye(len(subspace)) - subspace @ subspace.T)
