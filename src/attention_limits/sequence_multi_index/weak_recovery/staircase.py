"""The staircase of weak recovery: the order in which subspaces are learned, and at how many samples per dimension.

Below the first threshold (`first_threshold`) nothing is learned. Above it the state evolution has a fixed point whose overlap is
confined to the learned subspace U. On this branch the rest stays at zero until alpha ||F_rest(Q)|| = 1; the eigenmatrix of F_rest
is the subspace learned next, and so on (Troiani et al. 2025, arXiv:2502.00901, for two layers; this module computes any number of
steps).

If the branch ends in the recovery of U before anything else is learned, more data leave Q = 1 on U, and F_rest no longer changes:
the next threshold is 1 / ||F_rest(U recovered)||. The staircase goes on with U known.

A branch is followed in its level, -log det(I - Q) = log det(I + Q_hat), which grows along it whether alpha does or not: at a
given level, Q_hat = alpha U^T E sum_a g_a g_a^T U fixes alpha. A one-dimensional U needs no iteration. Taking
the limit of full overlap instead of following the branch gives other, smaller numbers: the limits do not commute.

For a prior of covariance C = R R^T all subspaces are those of the whitened rows R^-1 W, and the level is log det(I + Q_hat). A
confined branch solves the state evolution if the sign of every row is free in the link and in the prior. For other links it is
followed for standard normal weights alone; other priors then have the first threshold alone.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.priors.overlaps import LARGEST_OVERLAP
from attention_limits.sequence_multi_index.priors.prior import Prior
from attention_limits.sequence_multi_index.state_evolution.linear_response import (
    HALF_OF_THE_NODES,
    SIGNIFICANT,
)
from attention_limits.sequence_multi_index.weak_recovery.branch import (
    HIGHEST_LEVEL,
    SHAPE_TOLERANCE,
    SMALLEST_PRECISION,
    branch_point,
    complement,
    principal,
)
from attention_limits.sequence_multi_index.weak_recovery.crossing import Crossing, polish, search
from attention_limits.sequence_multi_index.weak_recovery.first_threshold import (
    first_threshold,
    instability_and_halves,
    instability_at,
)
from attention_limits.sequence_multi_index.weak_recovery.known import aligned, overlap_beside, recovered_overlap

# One in PILOT_DIVISOR nodes, at least FEWEST_PILOT_NODES, locates a threshold first, to this accuracy of the level.
PILOT_DIVISOR, FEWEST_PILOT_NODES, PILOT_ACCURACY = 8, 32, 0.02
# Accuracy of the level at which a branch turns back.
TURN = 1e-2


@dataclass(frozen=True)
class Step:
    """One step of the staircase.

    Attributes
    ----------
    alpha : float
        Threshold: 0 if learned from any alpha on; NaN if no eigenvalue of F is above its noise, at zero overlap or where all
        learned directions are recovered, or if the branch cannot be followed.
    error : float
        Standard error: of the first threshold that of `first_threshold.FirstThreshold`, which covers the bias of few nodes; of
        the others half of the difference between the thresholds on the two halves of the nodes. NaN where a half has none.
    shift : float
        Mean of the thresholds on both halves minus alpha: the error of few nodes, which independent scramblings share. A sampled
        channel has a new scrambling of half as many nodes on each half. Zero for the first threshold.
    bound : float
        Where alpha is NaN and the branch could be followed: nothing more is learned below this alpha. Else NaN.
    direction : array (P, P)
        Subspace learned at this step, as its eigenmatrix, positive and of unit trace (NaN where alpha is).
    overlap : array (P, P)
        Q of the subspaces learned before, at the threshold.
    converged : bool
        Whether the branch converged at the threshold.
    resolved : float
        Fraction of outputs whose channel met its check.
    """

    alpha: float
    error: float
    shift: float
    bound: float
    direction: np.ndarray
    overlap: np.ndarray
    converged: bool
    resolved: float


def staircase(
    channel: Channel,
    nodes,
    nodes_at_zero,
    tolerance,
    report=lambda number, step: None,
    most=None,
    prior: Prior | None = None,
) -> list[Step]:
    """All thresholds of weak recovery, until everything is learned or nothing more is.

    Parameters
    ----------
    channel : Channel
    nodes : GaussianNodes
        For the branches, in `averages.node_dimension(channel.link)` dimensions.
    nodes_at_zero : GaussianNodes
        For the first threshold, which costs a single evaluation and can afford more.
    tolerance : float
        Accuracy of the level at a threshold.
    report : callable
        report(number, step) is called for each step when it is found.
    most : int, optional
        Largest number of steps.
    prior : Prior, optional
        Standard normal weights by default.
    """
    size, prior = channel.link.rows, as_prior(prior, channel.link)
    first = first_threshold(channel, nodes_at_zero, prior)
    zero, nothing = prior.uninformed(0.0), np.full((size, size), np.nan)
    steps = []

    def add(step):
        steps.append(step)
        report(len(steps), step)

    if not np.isfinite(first.alpha):
        add(Step(np.nan, np.nan, np.nan, first.bound, nothing, zero, True, first.resolved))
        return steps
    direction = first.direction
    add(Step(first.alpha, first.error, 0.0, np.nan, _of_rows(direction, prior), zero, True, first.resolved))
    if not ((prior.rotations and prior.isotropic) or prior.symmetry(channel.link) == "rows"):
        return steps
    known, learned, start, level = np.zeros((size, 0)), np.zeros((size, 0)), np.zeros((0, 0)), 0.0
    while True:
        learned = np.concatenate([learned, principal(direction)], axis=1)
        if known.shape[1] + learned.shape[1] == size or len(steps) == most:
            return steps
        start = _extended(start, learned.shape[1])
        found, end = _next_threshold(channel, nodes, known, learned, start, level, tolerance, prior)
        if found is None and not np.isfinite(end):
            add(Step(np.nan, np.nan, np.nan, np.nan, nothing, nothing, True, 1.0))
            return steps
        if found is None:
            known = aligned(channel, nodes, np.concatenate([known, learned], axis=1), prior)
            learned = np.zeros((size, 0))
            start, level = np.zeros((0, 0)), 0.0
            step, direction = _beyond(channel, nodes, known, end, prior)
            add(step)
            if not np.isfinite(step.alpha):
                return steps
            continue
        point = found.point
        overlap = overlap_beside(known, learned, point.precision, prior)
        rest = complement(np.concatenate([known, learned], axis=1))
        # All outputs share the nodes of a sampled channel that led to this point: other nodes decide which direction grows, if
        # any.
        grows, resolved = instability_at(channel, nodes, overlap, rest, prior)
        if not grows.significant:
            add(Step(np.nan, np.nan, np.nan, np.nan, nothing, nothing, True, resolved))
            return steps
        direction = rest @ grows.direction @ rest.T
        shown = _of_rows(direction, prior)
        error, shift = _error_of_nodes(channel, nodes, known, learned, found, level, tolerance, prior)
        converged, resolved = point.converged, min(resolved, point.resolved)
        add(Step(found.alpha, error, shift, np.nan, shown, overlap, converged, resolved))
        start, level = point.precision, found.level


def _beyond(channel, nodes, known, end, prior):
    """The step where the directions `known` are recovered, from alpha = `end` on, and its eigenmatrix of the whitened rows."""
    rest, overlap = complement(known), recovered_overlap(known, prior)
    grows, resolved, halves = instability_and_halves(channel, nodes, overlap, rest, prior)
    if not grows.significant:
        largest = max(grows.eigenvalue, 0.0) + SIGNIFICANT * max(grows.noise, grows.error)
        nothing = np.full_like(overlap, np.nan)
        bound = max(end, 1.0 / largest) if largest > 0 else np.inf
        return Step(np.nan, np.nan, np.nan, bound, nothing, overlap, True, resolved), nothing
    direction = rest @ grows.direction @ rest.T
    alpha = max(end, 1.0 / grows.eigenvalue)
    values = [half.eigenvalue for half in halves]
    shift = 0.5 * sum(max(end, 1.0 / value) if value > 0 else np.nan for value in values) - alpha
    step = Step(
        alpha, grows.error / grows.eigenvalue**2, shift, np.nan, _of_rows(direction, prior), overlap, True, resolved
    )
    return step, direction


def _of_rows(direction, prior):
    """An eigenmatrix (P, P) of the whitened rows as one of the rows themselves, of the same trace."""
    found = prior.root @ direction @ prior.root.T
    return found * (np.trace(direction) / np.trace(found))


def _extended(precision, size):
    """Q_hat (k, k) with further directions at SMALLEST_PRECISION."""
    extended = SMALLEST_PRECISION * np.eye(size)
    extended[: len(precision), : len(precision)] = precision
    return extended


def _recovered(learned, precision, prior):
    """Whether everything learned is recovered exactly: binary weights reach this at a finite precision."""
    spectrum = np.linalg.eigvalsh(prior.whitened(prior.confined(learned, precision)))
    return spectrum[-learned.shape[1]] >= LARGEST_OVERLAP - 1e-12


def _branch(channel, nodes, known, learned, prior):
    return lambda level, precision: branch_point(channel, nodes, learned, level, precision, prior=prior, known=known)


def _accuracy(learned, tolerance):
    """Accuracy of a level: on a branch of several directions the shape at each level has the accuracy SHAPE_TOLERANCE."""
    return max(tolerance, SHAPE_TOLERANCE) if learned.shape[1] > 1 else tolerance


def _next_threshold(channel, nodes, known, learned, start, begin, tolerance, prior) -> tuple[Crossing | None, float]:
    """Where the growth crosses one above the level `begin`; without a crossing None, and the alpha of the recovery, NaN if none.

    On a branch of one direction a part of the nodes locates the threshold, and all nodes compute it from this guess. If the part
    finds nothing, or an overlap that jumps, all nodes search the whole branch.
    """

    def on(some):
        return _branch(channel, some, known, learned, prior)

    highest, tolerance = HIGHEST_LEVEL * learned.shape[1], _accuracy(learned, tolerance)

    def recovered(point):
        return _recovered(learned, point.precision, prior)

    if learned.shape[1] == 1 and len(nodes) >= PILOT_DIVISOR * FEWEST_PILOT_NODES:
        part = search(on(nodes.head(len(nodes) // PILOT_DIVISOR)), start, begin, highest, PILOT_ACCURACY, recovered)
        found = None if part is None or part.jumps else polish(on(nodes), part, begin, highest, tolerance)
        if found is not None and not recovered(found.point):
            return found, np.nan
    at, met = on(nodes), []

    def noted(level, precision):
        point = at(level, precision)
        met.append((level, point))
        return point

    found = search(noted, start, begin, highest, tolerance, recovered)
    if found is not None or not met or not np.isfinite(met[-1][1].growth):
        return found, np.nan
    level, point = met[-1]
    return None, _largest_alpha(at, met) if level >= highest or recovered(point) else np.nan


def _largest_alpha(at, met):
    """The largest alpha of a branch that was met at increasing levels; where it turns back, at its maximum."""
    levels, alphas = [level for level, _ in met], [point.alpha for _, point in met]
    k = int(np.argmax(alphas))
    if not 0 < k < len(met) - 1:
        return float(alphas[k])
    precision = met[k][1].precision
    bounds = levels[k - 1], levels[k + 1]
    turn = minimize_scalar(
        lambda level: -at(level, precision).alpha, bounds=bounds, method="bounded", options={"xatol": TURN}
    )
    return float(max(alphas[k], -turn.fun))


def _error_of_nodes(channel, nodes, known, learned, found, begin, tolerance, prior):
    """`Step.error` and `Step.shift` of a crossing; NaN where one half of the nodes has no crossing."""
    highest, tolerance = HIGHEST_LEVEL * learned.shape[1], _accuracy(learned, tolerance)
    alphas = []
    for part, half in zip(channel.independent(2, finer=HALF_OF_THE_NODES), nodes.blocks(2), strict=True):
        at = _branch(part, half, known, learned, prior)
        near = polish(at, found, begin, highest, tolerance)
        if near is None:
            near = search(at, found.point.precision, begin, highest, tolerance)
        alphas.append(np.nan if near is None else near.point.alpha)
    return 0.5 * abs(alphas[0] - alphas[1]), 0.5 * (alphas[0] + alphas[1]) - found.point.alpha
