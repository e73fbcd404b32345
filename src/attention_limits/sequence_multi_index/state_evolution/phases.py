"""Impossible, hard, easy: the two fixed points of the state evolution and their free entropies.

The overlap of the Bayes-optimal estimate is the fixed point of largest free entropy; approximate message passing, the best known
algorithm in polynomial time, reaches the one that follows from the uninformed start (Troiani et al. 2025, arXiv:2502.00901).
Where the two differ, learning is possible but hard.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attention_limits.sequence_multi_index.channels.averages import channel_averages
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.priors.prior import Prior
from attention_limits.sequence_multi_index.state_evolution.fixed_point import (
    Settings,
    error_of_few_nodes,
    solve,
)
from attention_limits.sequence_multi_index.state_evolution.free_entropy import free_entropy

IMPOSSIBLE, HARD, EASY = 0, 1, 2
UNINFORMED_START, INFORMED_START = 1e-3, 1.0 - 1e-3
# An overlap below this share of the gap counts as zero. Unlearned overlaps are exactly zero, so one below the gap may be learned.
ZERO_OVERLAP_SHARE = 0.1
# Fixed points that differ by less than this number of errors of few nodes may be one on more nodes.
DIFFERENT = 3.0


class PhaseSettings(Settings, Protocol):
    """The settings of both fixed points; the section `schema.bayes.PhasesSolver` has those that a specification can set.

    Attributes
    ----------
    gap : float
        Fixed points whose overlaps agree within this (in the root mean square of the entries) are one; an overlap below a tenth
        of it counts as zero.
    """

    gap: float


@dataclass(frozen=True)
class Comparison:
    """Fixed points from both starts, along the first axis: uninformed, informed.

    Attributes
    ----------
    overlap : array (2, P, P)
    free_entropy : array (2,)
        Phi per dimension, up to alpha times a constant in Q; +inf at exact recovery from continuous outputs without noise: that
        fixed point is stable only if Phi grows without bound towards it.
    node_error : array (2, P, P)
        Standard error of each overlap from the finite number of nodes: from the fixed point on a quarter of them.
    converged : bool array (2,)
    resolved : float
        Smallest fraction of outputs whose channel met its check.
    phase : float
        IMPOSSIBLE, HARD or EASY; NaN if one of the fixed points did not converge, and where they differ also if in both of them
        a row is recovered exactly, or if the difference is within DIFFERENT errors of few nodes.
    """

    overlap: np.ndarray
    free_entropy: np.ndarray
    node_error: np.ndarray
    converged: np.ndarray
    resolved: float
    phase: float


def compare(channel: Channel, alpha, nodes, settings: PhaseSettings, prior: Prior | None = None) -> Comparison:
    """The phase at one alpha, on the given nodes.

    Parameters
    ----------
    channel : Channel
    alpha : float
        n / d.
    nodes : GaussianNodes
        In `averages.node_dimension(channel.link)` dimensions; both starts share them.
    settings : PhaseSettings
    prior : Prior, optional
        Standard normal weights by default.
    """
    prior, diverges, gap = as_prior(prior, channel.link), np.isneginf(channel.link.output_entropy), settings.gap
    overlaps, entropies, errors, converged, resolved = [], [], [], [], []
    for start in (UNINFORMED_START, INFORMED_START):
        point = solve(channel, alpha, nodes, start, settings, prior=prior)
        overlaps.append(point.value)
        errors.append(error_of_few_nodes(channel, alpha, nodes, start, settings, point.value, prior))
        converged.append(point.converged)
        if not np.all(np.isfinite(point.value)):
            entropies.append(np.nan), resolved.append(0.0)
            continue
        averages = channel_averages(channel, point.value, nodes, prior=prior)
        exact = diverges and prior.recovered(point.value)
        phi = free_entropy(point.value, alpha, averages.log_z, prior=prior, precision=point.precision)
        entropies.append(np.inf if exact else phi)
        resolved.append(averages.resolved)
    size = channel.link.rows

    def distance(a, b):
        return np.sqrt(np.sum((a - b) ** 2) / size)

    uninformed, informed = overlaps
    apart = distance(uninformed, informed)
    if not all(converged):
        phase = np.nan
    elif apart > gap and (np.all(np.isinf(entropies)) or apart <= DIFFERENT * distance(np.hypot(*errors), 0.0)):
        # Both diverge, and which one diverges faster is not computed; or few nodes do not separate one fixed point from two.
        phase = np.nan
    elif apart > gap and entropies[1] > entropies[0]:
        phase = HARD
    else:
        phase = EASY if distance(uninformed, prior.uninformed(0.0)) > ZERO_OVERLAP_SHARE * gap else IMPOSSIBLE
    return Comparison(
        np.array(overlaps), np.array(entropies), np.array(errors), np.array(converged), min(resolved), float(phase)
    )
