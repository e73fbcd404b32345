"""The staircase of weak recovery: the order in which subspaces are learnt, and at how many samples per dimension.

Below the first threshold (`weak_recovery`) nothing is learnt. Above it the state evolution has a fixed point whose overlap is
confined to the learnt subspace U. On this branch the rest stays at zero until alpha ||F_rest(Q)|| = 1; the eigenmatrix of F_rest
is the subspace learnt next, and so on (Troiani et al. 2025, arXiv:2502.00901, for two layers; here any number of steps).

A branch is followed in its level, -log det(I - Q) = log det(I + Q_hat), which grows along it whether alpha does or not: at a
given level, Q_hat = alpha U^T E sum_a g_a g_a^T U fixes alpha. A one-dimensional U needs no iteration. Taking
the limit of full overlap instead of following the branch gives other, smaller numbers: the limits do not commute.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from attention_limits.numerics.fixed_point import iterate
from attention_limits.numerics.statistics import combine_unbiased
from attention_limits.sequence_multi_index.channel import Channel, denoiser
from attention_limits.sequence_multi_index.instability import (
    excess_moments,
    leading_instability,
    response_blocks,
    symmetric_basis,
)
from attention_limits.sequence_multi_index.overlap_coordinates import (
    from_coordinates,
    overlap_from_precision,
    to_coordinates,
)
from attention_limits.sequence_multi_index.state_evolution import sample_outputs, symmetrized
from attention_limits.sequence_multi_index.weak_recovery import first_threshold, instability_at

# Eigenvectors of an eigenmatrix with less than this share of its largest eigenvalue are sampling noise, not learnt.
SMALLEST_SHARE = 0.05
# A branch is followed up to this level per learnt direction, 1 - Q = 2e-5.
HIGHEST_LEVEL = 11.0
# Smallest diagonal of Q_hat on a branch: a direction that has just become unstable must not be lost below the sampling noise.
SEED = 1e-3


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
        alpha ||F_rest||: factor by which a small overlap outside of the subspace grows per iteration.
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


def branch_point(channel: Channel, nodes, subspace, level, start, tolerance=1e-3) -> BranchPoint:
    """The point of a branch at a level.

    Parameters
    ----------
    channel : Channel
    nodes : GaussianNodes
        In `state_evolution.node_dimension(channel.link)` dimensions.
    subspace : array (P, k)
        U, orthonormal columns, k < P.
    level : float
        -log det(I - Q) > 0.
    start : array (k, k)
        Q_hat to start from, any level; its shape alone is iterated.
    tolerance : float
        Largest accepted relative change of Q_hat per iteration, which is damped by one half.
    """
    size = subspace.shape[1]
    last = {}

    def moments_at(precision):
        overlap = subspace @ overlap_from_precision(precision) @ subspace.T
        V = np.eye(len(subspace)) - 0.5 * (overlap + overlap.T)
        omega, observed = sample_outputs(channel.link, overlap, V, nodes.points)
        return channel.posterior(observed, omega, V), V

    def step(coordinates):
        moments, V = moments_at(from_coordinates(coordinates, size))
        (first, second), dg = denoiser(moments, V)
        weights = nodes.weights[:, None, None]
        product = np.einsum("pi,npa,nqa,qj->nij", subspace, first, second, subspace, optimize=True)
        squares = 0.5 * weights * (product + product.transpose(0, 2, 1))
        slopes = -weights * (subspace.T @ dg @ subspace)
        information = symmetrized(channel.link, combine_unbiased(squares, slopes).mean(axis=0))
        if not np.all(np.isfinite(information)):
            return np.full_like(coordinates, np.nan)
        alpha = _alpha_at_level(np.linalg.eigvalsh(information), level)
        last.update(alpha=alpha, moments=moments, V=V)
        # At a fixed level one direction gains and another loses: without damping the shape would swing.
        return 0.5 * (coordinates + to_coordinates(alpha * information, SEED))

    scale = _alpha_at_level(np.linalg.eigvalsh(start), level)
    outcome = iterate(step, to_coordinates(scale * start, SEED), tolerance, 1 if size == 1 else 200, lookahead=4)
    if not last or not np.all(np.isfinite(outcome.value)):
        return BranchPoint(np.nan, np.full((size, size), np.nan), np.nan, False, 0.0)
    rest = _complement(subspace)
    basis = symmetric_basis(rest.shape[1], channel.link.sign_symmetry == "rows")
    excess = excess_moments(last["moments"], last["V"], rest)
    found = leading_instability(response_blocks(excess, nodes.weights, basis), basis)
    return BranchPoint(
        last["alpha"],
        from_coordinates(outcome.value, size),
        last["alpha"] * found.growing,
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


@dataclass(frozen=True)
class Step:
    """One step of the staircase.

    Attributes
    ----------
    alpha : float
        Threshold: 0 if learnt from any alpha on; NaN if nothing more is learnt on this branch before the rest of it is
        recovered exactly, or if at zero overlap no eigenvalue of F is above its noise.
    error : float
        Standard error of the first threshold, the bias of few nodes included (`weak_recovery.FirstThreshold`); NaN for the
        others, whose error is the spread over independent scramblings and does not cover that bias.
    bound : float
        Where the first alpha is NaN: nothing is learnt below this alpha. Else NaN.
    direction : array (P, P)
        Subspace learnt here, as its eigenmatrix, positive and of unit trace (NaN where alpha is).
    overlap : array (P, P)
        Q of the subspaces learnt before, at the threshold.
    converged : bool
        Whether the branch converged there.
    resolved : float
        Fraction of outputs whose channel met its check.
    """

    alpha: float
    error: float
    bound: float
    direction: np.ndarray
    overlap: np.ndarray
    converged: bool
    resolved: float


def staircase(
    channel: Channel, nodes, nodes_at_zero, tolerance=1e-3, report=lambda number, step: None, most=None
) -> list[Step]:
    """All thresholds of weak recovery, until everything is learnt or nothing more is.

    Parameters
    ----------
    channel : Channel
    nodes : GaussianNodes
        For the branches, in `state_evolution.node_dimension(channel.link)` dimensions.
    nodes_at_zero : GaussianNodes
        For the first threshold, which costs a single evaluation and can afford more.
    tolerance : float
        Accuracy of the level at a threshold.
    report : callable
        report(number, step) is called for each step when it is found.
    most : int, optional
        Largest number of steps.
    """
    size = channel.link.rows
    first = first_threshold(channel, nodes_at_zero)
    zero, nothing = np.zeros((size, size)), np.full((size, size), np.nan)
    steps = []

    def add(step):
        steps.append(step)
        report(len(steps), step)

    if not np.isfinite(first.alpha):
        add(Step(np.nan, np.nan, first.bound, first.direction, zero, True, first.resolved))
        return steps
    add(Step(first.alpha, first.error, np.nan, first.direction, zero, True, first.resolved))
    learnt = np.zeros((size, 0))
    start, level = np.zeros((0, 0)), 0.0
    while True:
        added = _principal(steps[-1].direction)
        learnt = np.concatenate([learnt, added], axis=1)
        if learnt.shape[1] == size or len(steps) == most:
            return steps
        start = _extended(start, learnt.shape[1])
        found = _next_threshold(channel, nodes, learnt, start, level, tolerance)
        if found is None:
            add(Step(np.nan, np.nan, np.nan, nothing, nothing, True, 1.0))
            return steps
        point, alpha, level = found
        overlap = learnt @ overlap_from_precision(point.precision) @ learnt.T
        rest = _complement(learnt)
        # All outputs share the nodes of a sampled channel that led here: other nodes decide which direction grows, if any.
        grows, resolved = instability_at(channel, nodes, overlap, rest)
        if not grows.significant:
            add(Step(np.nan, np.nan, np.nan, nothing, nothing, True, resolved))
            return steps
        direction = rest @ grows.direction @ rest.T
        add(Step(alpha, np.nan, np.nan, direction, overlap, point.converged, min(resolved, point.resolved)))
        start = point.precision


def _principal(direction):
    """Orthonormal columns that span an eigenmatrix (P, P)."""
    values, vectors = np.linalg.eigh(direction)
    return vectors[:, values > SMALLEST_SHARE * values[-1]]


def _complement(subspace):
    """Orthonormal columns of the space orthogonal to the columns of `subspace` (P, k)."""
    return _principal(np.eye(len(subspace)) - subspace @ subspace.T)


def _extended(precision, size):
    """Q_hat (k, k) with further directions at the seed overlap."""
    extended = SEED * np.eye(size)
    extended[: len(precision), : len(precision)] = precision
    return extended


def _next_threshold(channel, nodes, learnt, start, begin, tolerance):
    """(point, alpha, level) where the growth crosses one above the level `begin`, or None up to the highest level.

    Where alpha is not monotone along the branch the overlap jumps: the threshold is the largest alpha met on the way.
    """
    largest, precision, below = 0.0, start, begin
    length = 0.3
    while True:
        level = below + length
        if level > HIGHEST_LEVEL * learnt.shape[1]:
            return None
        point = branch_point(channel, nodes, learnt, level, precision)
        if not np.isfinite(point.growth):
            return None
        if point.growth > 1.0:
            break
        largest, precision, below = max(largest, point.alpha), point.precision, level
        length *= 1.6

    def log_growth(at):
        # Sampling noise can make a growth near zero negative.
        return np.log(max(branch_point(channel, nodes, learnt, at, precision).growth, 1e-3))

    # At the very beginning of a branch the growth is that of the previous one, below one.
    below = max(below, begin + 1e-3)
    root = brentq(log_growth, below, level, xtol=tolerance) if log_growth(below) < 0 else below
    point = branch_point(channel, nodes, learnt, root, precision)
    return point, max(largest, point.alpha), root
