"""Where a branch of the state evolution turns back: the alpha at which the overlap of one learned direction jumps.

On the branch of a single direction alpha is a function of the level, log det(I + Q_hat) (`branch`). If it has a maximum, the
branch ends there, and the uninformed start goes on to another fixed point: a discontinuous transition (the state evolution is
that of Troiani et al. 2025, arXiv:2502.00901).
"""

from functools import cache

import numpy as np
from scipy.optimize import minimize_scalar

from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.priors.prior import Prior
from attention_limits.sequence_multi_index.weak_recovery.branch import branch_point

# Levels of the search, and the relative fall of alpha behind a maximum: few nodes do not separate less from a steep rise.
LEVELS, FALL = np.geomspace(0.1, 6.0, 30), 0.01
# Where alpha rises by more than this share over two levels, the one between is left out: on common nodes alpha is smooth.
RISE = 0.03


def turning_point(channel: Channel, nodes, direction, prior: Prior | None = None):
    """Alpha and overlap at the first maximum of alpha along a branch, (nan, nan) if there is none.

    Parameters
    ----------
    channel : Channel
    nodes : GaussianNodes
        In `averages.node_dimension(channel.link)` dimensions. Below the threshold of weak recovery alpha is a constant up
        to the noise of the nodes: a maximum at the first level does not count.
    direction : array (P, 1)
        The learned direction of the whitened rows, P >= 2.
    prior : Prior, optional
        Standard normal weights by default.

    Returns
    -------
    alpha : float
    overlap : array (P, P)
        Q at this alpha.
    """
    prior = as_prior(prior, channel.link)

    def point(level):
        return branch_point(channel, nodes, direction, float(level), np.eye(1), prior=prior)

    @cache
    def alpha_at(number):
        return point(LEVELS[number]).alpha

    numbers = []
    for number in _followed(alpha_at):
        numbers.append(number)
        alphas = [alpha_at(one) for one in numbers]
        largest = int(np.nanargmax(alphas)) if np.isfinite(alphas).any() else 0
        if 0 < largest < len(alphas) - 1 and alphas[-1] < (1.0 - FALL) * alphas[largest]:
            # Its neighbours may have been left out, and one of them may be larger.
            near = range(numbers[largest] - 1, numbers[largest] + 2)
            top = near[int(np.nanargmax([alpha_at(one) for one in near]))]
            bounds = (LEVELS[top - 1], LEVELS[top + 1])
            found = minimize_scalar(lambda x: -point(x).alpha, bounds=bounds, method="bounded", options={"xatol": 1e-3})
            return -found.fun, prior.confined(direction, point(found.x).precision)
    return np.nan, np.full((channel.link.rows,) * 2, np.nan)


def _followed(alpha_at):
    """Numbers of levels in order, without every second one where alpha rises by more than RISE over two steps."""
    yield 0
    for number in range(2, len(LEVELS), 2):
        if not alpha_at(number) > (1.0 + RISE) * alpha_at(number - 2):
            yield number - 1
        yield number
    yield len(LEVELS) - 1
