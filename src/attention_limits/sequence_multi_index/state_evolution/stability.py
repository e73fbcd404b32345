"""Whether an iteration stays at its end point: the growth of a small change there.

An iteration can end at a saddle of the state evolution: a symmetric start keeps symmetries that small changes break, and an
eigenvalue of Q_hat of zero, on which the noise of few nodes is negative, returns to zero although it grows from any larger value
(the linear response is that of Troiani et al. 2025, arXiv:2502.00901).
"""

from collections.abc import Callable

import numpy as np

from attention_limits.sequence_multi_index.channels.averages import sample_outputs
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.priors.prior import Prior
from attention_limits.sequence_multi_index.state_evolution.linear_response import (
    excess_moments,
    response,
    symmetric_basis,
)

# Largest number of evaluations of the map for the largest rate of growth; relative accuracy of this rate at which they end; a
# rate below the last number needs no accuracy.
EVALUATIONS, ACCURACY, SMALL_RATE = 8, 0.05, 0.5
# Change of the logarithms of Q_hat.
CHANGE = 0.05
# Eigenvalues of Q_hat to which unlearned directions are lifted: the noise of few nodes hides an instability at the first values.
LIFTS = (0.01, 0.1, 0.3)
# With a larger linear response an unlearned direction that the map does not raise is no end point: the noise of the nodes hides
# that it grows.
UNSTABLE = 1.2


def growth(step: Callable, value, change):
    """Largest rate of growth of a small change of an end point, and this change.

    Power iteration with the differences of the map.

    Parameters
    ----------
    step : callable
        The map on arrays (n,).
    value : array (n,)
        The end point.
    change : array (n,)
        The change to begin with; only its direction counts.

    Returns
    -------
    rate : float
        Factor per iteration; 0 without a change.
    change : array (n,)
        The change that grows, with the largest entry CHANGE, its first entries (the diagonal) more positive than negative.
    """
    scale = np.max(np.abs(change), initial=0.0)
    if scale == 0.0:
        return 0.0, change
    change, rate, origin = change * (CHANGE / scale), np.inf, step(value)
    for _ in range(EVALUATIONS):
        moved = step(value + change) - origin
        before, rate = rate, float(np.linalg.norm(moved) / np.linalg.norm(change))
        scale = np.max(np.abs(moved))
        if not np.isfinite(scale) or scale == 0.0:
            return 0.0, np.zeros_like(change)
        change = moved * (CHANGE / scale)
        if abs(rate - before) <= ACCURACY * rate or max(rate, min(before, 1.0)) < SMALL_RATE:
            break
    return rate, change if np.sum(change) >= 0 else -change


def lifted(channel: Channel, alpha, nodes, q_hat, unlearned, prior: Prior, image: Callable):
    """Q_hat with unlearned directions lifted to a value from which they grow, or None; and their linear response.

    They grow if their linear response exceeds one, and if the map raises them from one of LIFTS. The second condition alone would
    pass the gap of a discontinuous transition.

    Parameters
    ----------
    channel : Channel
    alpha : float
        n / d.
    nodes : GaussianNodes
        In `averages.node_dimension(channel.link)` dimensions.
    q_hat : array (P, P)
        The end point, zero in the unlearned directions.
    unlearned : array (P, k)
        Orthonormal columns.
    prior : Prior
    image : callable
        alpha E sum_a g_a g_a^T as a function of Q_hat (P, P), which may have negative eigenvalues.
    """
    # Of the whitened rows R^-1 W, whose precision is R^T Q_hat R.
    rest = np.linalg.qr(np.linalg.solve(prior.root, unlearned))[0]
    overlap = prior.overlap(q_hat)
    V = prior.second_moment - 0.5 * (overlap + overlap.T)
    omega, observed = sample_outputs(channel.link, overlap, V, nodes.points)
    moments = channel.posterior(observed, omega, V)
    basis = symmetric_basis(rest.shape[1], prior.symmetry(channel.link) == "rows")
    matrix = alpha * prior.response * response(excess_moments(moments, V, prior.root @ rest), nodes.weights, basis)
    if not np.all(np.isfinite(matrix)):
        return None, np.nan
    values, vectors = np.linalg.eigh(matrix)
    if values[-1] <= 1.0:
        return None, values[-1]
    direction = np.einsum("j,jpq->pq", vectors[:, -1], basis)
    spectrum, frame = np.linalg.eigh(direction * np.sign(np.trace(direction)))
    direction = (frame * (np.maximum(spectrum, 0.0) / spectrum[-1])) @ frame.T
    rows = np.linalg.solve(prior.root.T, rest)
    for size in LIFTS:
        up = q_hat + size * rows @ direction @ rows.T
        found = rest.T @ prior.root.T @ image(up) @ prior.root @ rest
        if np.sum(found * direction) > size * np.sum(direction**2):
            return up, values[-1]
    return None, values[-1]
