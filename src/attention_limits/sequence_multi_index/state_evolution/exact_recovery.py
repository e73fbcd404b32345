"""Exact recovery: the alpha beyond which the state evolution from the uninformed start ends at Q = E w w^T.

The fixed points are those of Troiani et al. 2025 (arXiv:2502.00901); the search is derived in this module. Each step
of a bisection computes one fixed point. We assume that more data do not undo the recovery.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.priors.prior import Prior
from attention_limits.sequence_multi_index.state_evolution.fixed_point import RECOVERED, Settings, solve

START = 1e-3


class RecoverySettings(Settings, Protocol):
    """The settings of all fixed points; the section `schema.thresholds.RecoverySolver` has those that a specification can set.

    Attributes
    ----------
    highest : float
        Largest alpha to try; the smallest is 1e-2 times it.
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
        Largest alpha without and smallest alpha with exact recovery that were computed; both are NaN if `highest` has none.
    converged : bool
        Whether all fixed points on the way converged, or came to Q = I.
    node_error : float
        Error of few nodes: distance between the middles of the brackets on half of the nodes and on all. NaN where one of both
        has no recovery.
    """

    below: float
    above: float
    converged: bool
    node_error: float


def exact_recovery(channel: Channel, nodes, settings: RecoverySettings, prior: Prior | None = None) -> Recovery:
    """Bisection in the logarithm of alpha, on all nodes and on the first half of them.

    Parameters
    ----------
    channel : Channel
    nodes : GaussianNodes
        In `averages.node_dimension(channel.link)` dimensions.
    settings : RecoverySettings
    prior : Prior, optional
        Standard normal weights by default.
    """
    below, above, converged = _bracket(channel, nodes, settings, prior)
    few_below, few_above, _ = _bracket(channel, nodes.head(len(nodes) // 2), settings, prior)
    return Recovery(below, above, converged, 0.5 * abs(below + above - few_below - few_above))


def _bracket(channel, nodes, settings, prior):
    """`Recovery.below`, `above` and `converged` on some nodes."""
    converged = True

    def recovered(alpha):
        nonlocal converged
        point = solve(channel, alpha, nodes, START, settings, prior=prior)
        exact = bool(np.all(np.diag(point.value) >= 1.0 - RECOVERED))
        converged &= point.converged or exact
        return exact

    if not recovered(settings.highest):
        return np.nan, np.nan, converged
    below, above = 1e-2 * settings.highest, settings.highest
    while above > (1.0 + settings.width) * below:
        middle = np.sqrt(below * above)
        below, above = (below, middle) if recovered(middle) else (middle, above)
    return float(below), float(above), converged
