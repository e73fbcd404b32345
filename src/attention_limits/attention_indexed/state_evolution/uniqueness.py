"""Whether the fixed point of the state evolution is unique at every number of samples.

alpha(D) = (V / D) / (V information(V)), V = mmse(D). So alpha(D) falls with D, and takes each value once, if

    V / D falls with D      (a condition on the law of S) and
    V information(V) rises with V      (a condition on the channel).

V information is, up to a constant, the share of the variance of the scores given omega that an output explains. It rises where an
output explains less the better the scores are known, and falls with V where the output hides the sign of unknown scores. Both
conditions are sufficient, not necessary: where one of them fails, alpha(D) itself is followed with its turns (`phases`).

The conditions are checked on the nodes of the curve: 20 per decade of D, for alpha from 1e-12 to 1000, and the turns of alpha(D).
Changes against the condition below 1e-6 are the accuracy of mmse(D). An information that is uncertain by a factor 1 +- u takes
all its solutions between those of alpha (1 - u) and alpha (1 + u) of a curve that falls: inside of the stated bound of the error.

Derived for the model of Boncoraglio, Troiani, Erba, Zdeborova 2025 (arXiv:2506.01582).
"""

import itertools
from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.state_evolution.phases import SAME, Phases, information_known

SEVERAL, FOLLOWED, FACTORS = 0, 1, 2


@dataclass(frozen=True)
class Uniqueness:
    """What gives uniqueness at every alpha.

    Attributes
    ----------
    by : float
        FACTORS: both conditions; FOLLOWED: alpha(D) itself falls, but a condition fails; SEVERAL: it turns; NaN: the information
        of the channel is not known at every V, or is so uncertain that it may turn.
    denoiser, channel : float
        Largest relative rise of V / D with D, and largest relative fall of V information with V; at most the accuracy where the
        conditions hold.
    """

    by: float
    denoiser: float
    channel: float


def uniqueness(found: Phases) -> Uniqueness:
    """The certificate of a channel and a prior from `found`, their `phases.phases`."""
    table = found.potential.curve
    # In order of falling D: V / D must rise, V information must fall, alpha must rise.
    share = table.mmse * found.channel.information(table.mmse, found.prior.Q)
    rises = _largest_fall(table.mmse / table.noise), _largest_fall(1.0 / np.maximum(share, np.finfo(float).tiny))
    overlap = any(after.begin < (1.0 - SAME) * before.end for before, after in itertools.pairwise(found.branches))
    if not information_known(found):
        by = np.nan
    elif overlap:
        by = SEVERAL
    elif max(rises) <= SAME:
        by = FACTORS
    else:
        by = FOLLOWED if _largest_fall(table.alpha) <= SAME else np.nan
    return Uniqueness(float(by), *rises)


def _largest_fall(values):
    """The largest relative fall of `values` (n,) > 0 below an earlier one."""
    values = np.minimum(values, np.finfo(float).max)
    return float(np.max(1.0 - values / np.maximum.accumulate(values)))
