"""Exact recovery, Q = E w w^T: the alpha above which the uninformed start ends there, and the one above which it is optimal.

The first is alpha of message passing. At the second one the recovered fixed point gets the largest free entropy: from there on
recovery is possible, and hard up to the first. The fixed points are those of Troiani et al. 2025 (arXiv:2502.00901); the search
is derived in this module. Each step of a bisection computes one or two fixed points. We assume that more data do not undo the
recovery.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import eigvalsh

from attention_limits.sequence_multi_index.channels.averages import channel_averages
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.priors.overlaps import clip_spectrum, symmetrized
from attention_limits.sequence_multi_index.priors.prior import Prior
from attention_limits.sequence_multi_index.state_evolution.fixed_point import (
    RECOVERED,
    Settings,
    is_frozen,
    solve,
)
from attention_limits.sequence_multi_index.state_evolution.phases import INFORMED_START, UNINFORMED_START, branch

# V at which the stability of exact recovery is tested. Rows may be recovered to very different V: none is cut off above NEAREST.
NEAR, NEAREST, POWER_STEPS = 1e-8, 1e-12, 100
# Smallest fraction of outputs that the nodes resolve there, as for the flags of cubes.
RESOLVED = 0.95
# Smallest alpha of the search over the largest one.
SMALLEST = 1e-2


class RecoverySettings(Settings, Protocol):
    """The settings of all fixed points; the section `schema.thresholds.RecoverySolver` has those that a specification can set.

    Attributes
    ----------
    highest : float
        Largest alpha to try; the smallest is SMALLEST times it.
    width : float
        The bracket is as narrow as above / below <= 1 + width.
    """

    highest: float
    width: float


@dataclass(frozen=True)
class Recovery:
    """The bracket of the alpha of exact recovery.

    Attributes
    ----------
    below, above : float
        Largest alpha without and smallest alpha with exact recovery that were computed; both are NaN if `highest` has none, and
        `below` is zero if the smallest alpha has it.
    converged : bool
        Whether all fixed points on the way converged, or came to Q = I, and the nodes resolved the outputs near Q = I where
        its stability decides.
    node_error : float
        Error of few nodes: distance between the middles of the brackets on half of the nodes and on all. NaN where one of both
        has no recovery.
    """

    below: float
    above: float
    converged: bool
    node_error: float


def exact_recovery(channel: Channel, nodes, settings: RecoverySettings, prior: Prior | None = None) -> Recovery:
    """The alpha above which the uninformed start recovers.

    Bisection in its logarithm, on all nodes and on the first half of them.

    Parameters
    ----------
    channel : Channel
    nodes : GaussianNodes
        In `averages.node_dimension(channel.link)` dimensions.
    settings : RecoverySettings
    prior : Prior, optional
        Standard normal weights by default.
    """

    def recovered(alpha, some):
        point = solve(channel, alpha, some, UNINFORMED_START, settings, prior=prior)
        exact = _is_exact(point)
        return exact, point.converged or exact

    return _recovery(recovered, nodes, settings)


def optimal_recovery(channel: Channel, nodes, settings: RecoverySettings, prior: Prior | None = None) -> Recovery:
    """The alpha above which recovery is Bayes-optimal: it is a stable fixed point, and that of largest free entropy.

    `channel`, `nodes`, `settings` and `prior` are those of `exact_recovery`. The other fixed point follows from the uninformed
    start.
    """
    prior = as_prior(prior, channel.link)

    def recovered(alpha, some):
        stable, resolved = _is_stable(channel, alpha, some, prior)
        # Continuous outputs without noise: the free entropy of a stable recovery grows without bound.
        if not stable or np.isneginf(channel.link.output_entropy):
            return stable, resolved
        informed, best, _ = branch(channel, alpha, some, INFORMED_START, settings, prior)
        # The start itself is nearly exact: the iteration must have reached the edge.
        if not (_is_exact(informed) and prior.recovered(informed.value)):
            return False, resolved and informed.converged
        other, phi, _ = branch(channel, alpha, some, UNINFORMED_START, settings, prior)
        return _is_exact(other) or best > phi, resolved and informed.converged and other.converged

    return _recovery(recovered, nodes, settings)


def _is_stable(channel, alpha, nodes, prior):
    """Whether V = E w w^T - Q shrinks under the map close to exact recovery, and whether the nodes resolved the outputs there.

    By power iteration: there the map is linear up to small terms and monotone in V, so the largest and the smallest generalised
    eigenvalue of two successive V bound its growth (Collatz and Wielandt). An iteration from a start further away could leave:
    for weights that are often zero V exceeds its limit law by 3 % at 1e-5.
    """
    if is_frozen(channel.link, prior, (1.0 - NEAR) * prior.second_moment):
        return True, True
    missing, growth, resolved = NEAR * prior.second_moment, np.inf, 1.0
    for _ in range(POWER_STEPS):
        averages = channel_averages(channel, prior.second_moment - missing, nodes, prior=prior)
        resolved = min(resolved, averages.resolved)
        if not np.all(np.isfinite(averages.information)):
            return False, False
        precision = alpha * symmetrized(channel.symmetry(prior), averages.information)
        after = prior.second_moment - prior.overlap(clip_spectrum(precision, 0.0, np.inf), 1.0 - NEAREST)
        bounds = eigvalsh(after, missing)
        growth = np.trace(after) / np.trace(missing)
        if bounds[-1] < 1.0 or bounds[0] > 1.0:
            break
        missing = after / growth
    return bool(growth < 1.0), resolved >= RESOLVED


def _is_exact(point):
    return bool(np.all(np.diag(point.value) >= 1.0 - RECOVERED))


def _recovery(recovered, nodes, settings):
    """The bracket of `recovered(alpha, nodes)`, which returns whether recovery holds and whether its iterations converged."""
    below, above, converged = _bracket(recovered, nodes, settings)
    few_below, few_above, _ = _bracket(recovered, nodes.head(len(nodes) // 2), settings)
    return Recovery(below, above, converged, 0.5 * abs(below + above - few_below - few_above))


def _bracket(recovered, nodes, settings):
    """`Recovery.below`, `above` and `converged` on some nodes."""
    holds, converged = recovered(settings.highest, nodes)
    if not holds:
        return np.nan, np.nan, converged
    below, above = SMALLEST * settings.highest, settings.highest
    holds, settled = recovered(below, nodes)
    converged &= settled
    if holds:
        return 0.0, float(below), converged
    while above > (1.0 + settings.width) * below:
        middle = np.sqrt(below * above)
        holds, settled = recovered(middle, nodes)
        converged &= settled
        below, above = (below, middle) if holds else (middle, above)
    return float(below), float(above), converged
