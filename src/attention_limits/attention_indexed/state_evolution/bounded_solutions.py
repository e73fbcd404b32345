"""Solutions of the state evolution with bounds on their errors, where the information of a channel is uncertain.

The equations are those of `state_evolution.curve` (Boncoraglio, Troiani, Erba, Zdeborova 2025, arXiv:2506.01582). The bounds are
derived from 1/D = alpha information(V).
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.channels.protocol import Channel


@dataclass(frozen=True)
class Bounded:
    """Both solutions with bounds on the errors that the uncertain information of the channel causes; arrays (n,).

    Attributes
    ----------
    mmse, bound : array
        Error of the uninformed solution and its bound. NaN where the information is not known from V = 1 down to the solution.
    informed, informed_bound : array
        The same of the informed solution. NaN where the information is not known from V = 0 up to the solution.
    noise, informed_noise : array
        D of both, without bounds.
    unique : array of bool
        Whether both are one, also if the information is larger or smaller by its uncertainty, and both are known.
    """

    mmse: np.ndarray
    bound: np.ndarray
    noise: np.ndarray
    informed: np.ndarray
    informed_bound: np.ndarray
    informed_noise: np.ndarray
    unique: np.ndarray


def bounded(channel: Channel, compute, alpha, Q: float) -> Bounded:
    """The `Solutions` compute(alpha) (n,) and their bounds; `Q` is the prior variance of the scores.

    An information larger by a factor has the effect of a number of samples larger by this factor. Near the end of a branch the
    bound contains the jump.
    """
    alpha = np.asarray(alpha, dtype=float)
    found = compute(alpha)
    ends, unique = [], found.unique
    for name in ("mmse", "informed"):
        V = getattr(found, name)
        uncertainty = np.broadcast_to(channel.uncertainty(V, Q), alpha.shape)
        if not channel.closed_form:
            way = (V, np.ones_like(V)) if name == "mmse" else (np.zeros_like(V), V)
            uncertainty = np.where(channel.resolved(*way, Q), uncertainty, np.nan)
            # Without samples the error is one for every information.
            uncertainty = np.where(alpha == 0, 0.0, uncertainty)
        bound, known = np.zeros_like(alpha), np.nan_to_num(uncertainty)
        if np.any(known):
            fewer, more = (compute(alpha * (1.0 + sign * known)) for sign in (-1.0, 1.0))
            bound = np.maximum(getattr(fewer, name) - V, V - getattr(more, name))
            unique = unique & fewer.unique & more.unique
        if not channel.closed_form:
            # Zero is known down to the smallest V of the table.
            bound = bound + np.where(V == 0, channel.least(Q) * Q, 0.0)
        bound = np.where(np.isnan(uncertainty), np.nan, bound)
        ends += [np.where(np.isnan(bound), np.nan, V), bound]
    unique = unique & np.isfinite(ends[0]) & np.isfinite(ends[2])
    return Bounded(ends[0], ends[1], found.noise, ends[2], ends[3], found.informed_noise, unique)
