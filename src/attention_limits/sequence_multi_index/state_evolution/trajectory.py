"""The state evolution as a function of the iteration.

    Q_hat_t = alpha E sum_a g_a g_a^T + kappa / (1 - kappa) I at Q_(t-1),   Q_t = f(Q_hat_t)

(Troiani et al. 2025, arXiv:2502.00901), f of the prior (`priors`). In the limit of infinite dimension W_hat_t W^T / D of undamped
GAMP is Q_t at every t, if GAMP starts with an estimate of overlap Q_0 and variance E w w^T - Q_0. An uninformed estimate has an
overlap of the order of 1 / sqrt(D) with the teacher: its squared cosine is 1 / D on average, at every iteration. `floor` keeps
this number.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attention_limits.sequence_multi_index.channels.averages import channel_averages
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.priors.overlaps import clip_spectrum, symmetrized
from attention_limits.sequence_multi_index.priors.prior import Prior
from attention_limits.sequence_multi_index.state_evolution.fixed_point import is_frozen


class TrajectorySettings(Protocol):
    """The settings that a trajectory reads; the section `schema.bayes.TrajectorySolver` has them.

    Attributes
    ----------
    start : float
        Q_0 = E w E w^T + start Cov(w), in [0, 1).
    max_iterations : int
        Number of iterations T >= 1.
    side_information : float
        kappa in [0, 1): the solver also observes sqrt(kappa) W + sqrt(1 - kappa) noise, from the first iteration on.
    regularization : float
        epsilon >= 0, see `averages.channel_averages`.
    floor : float
        Smallest diagonal entry of Q, in [0, 1); 0 is the map itself.
    """

    start: float
    max_iterations: int
    side_information: float
    regularization: float
    floor: float


@dataclass(frozen=True)
class Trajectory:
    """State evolution over T iterations (the start is not included).

    Attributes
    ----------
    overlap : array (T, P, P)
        Q_t, in units of the second moment of the weights.
    resolved : float
        Smallest fraction, over iterations, of nodes whose channel met its check.
    """

    overlap: np.ndarray
    resolved: float


def trajectory(channel: Channel, alpha, nodes, settings: TrajectorySettings, prior: Prior | None = None) -> Trajectory:
    """Iterate the state evolution on fixed nodes, without acceleration.

    Parameters
    ----------
    channel : Channel
    alpha : float
        n / D.
    nodes : GaussianNodes
        In `averages.node_dimension(channel.link)` dimensions.
    settings : TrajectorySettings
    prior : Prior, optional
        Standard normal weights by default.

    Raises
    ------
    ValueError
        For alpha < 0, or a prior with other rows.
    """
    if alpha < 0:
        raise ValueError(f"need alpha >= 0, got {alpha}")
    size, prior = channel.link.rows, as_prior(prior, channel.link)
    hint = settings.side_information / (1.0 - settings.side_information) * np.eye(size)
    symmetry, iterations, floor = channel.symmetry(prior), settings.max_iterations, settings.floor
    overlap, path, resolved = prior.uninformed(settings.start), [], 1.0
    for _ in range(iterations):
        if is_frozen(channel.link, prior, overlap):
            path.append(overlap)
            continue
        averages = channel_averages(channel, overlap, nodes, settings.regularization, prior)
        resolved = min(resolved, averages.resolved)
        if not np.all(np.isfinite(averages.information)):
            # The rest of the path is missing.
            path += [np.full((size, size), np.nan)] * (iterations - len(path))
            break
        information = symmetrized(symmetry, averages.information)
        overlap = prior.overlap(clip_spectrum(alpha * information, 0.0, np.inf) + hint)
        if floor > 0:
            lifted = overlap + np.diag(np.maximum(floor - np.diag(overlap), 0.0))
            overlap = prior.clipped(lifted)
        path.append(overlap)
    return Trajectory(np.array(path), resolved)
