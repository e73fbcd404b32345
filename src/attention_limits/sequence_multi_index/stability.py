"""Whether an iteration stays at its end point: the growth of a small change there.

An iteration can end at a saddle of the state evolution: a symmetric start keeps symmetries that small changes break, and an
eigenvalue of Q_hat of zero, on which the noise of few nodes is negative, returns to zero although it grows from any larger value
(the linear response is that of Troiani et al. 2025, arXiv:2502.00901).
"""

from collections.abc import Callable

import numpy as np

# Largest number of evaluations of the map for the largest rate of growth; relative accuracy of this rate at which they end; a rate
# below the last number needs no accuracy.
EVALUATIONS, ACCURACY, SMALL_RATE = 8, 0.05, 0.5
# Change of the logarithms of Q_hat.
CHANGE = 0.05
# Eigenvalues of Q_hat to which unlearned directions are lifted: the first gives the linear response. Noise of the nodes hides an
# instability at the first value, not at the second.
LIFTS = (0.01, 0.1)
# Iterations for the unlearned matrix that grows fastest.
RESPONSES = 3


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


def lifted(image: Callable, q_hat, unlearned, diagonal: bool):
    """Q_hat with unlearned directions lifted to a value from which they grow, or None where they do not.

    They grow if their linear response exceeds one, and if the map raises them from one of LIFTS. The response is a difference of
    two values of the map, so the noise that both share cancels.

    Parameters
    ----------
    image : callable
        alpha E sum_a g_a g_a^T as a function of Q_hat (P, P), which may have negative eigenvalues.
    q_hat : array (P, P)
        The end point, zero in the unlearned directions.
    unlearned : array (P, k)
        Orthonormal columns.
    diagonal : bool
        Whether Q_hat is diagonal.
    """

    def block(precision):
        found = unlearned.T @ image(precision) @ unlearned
        return np.diag(np.diag(found)) if diagonal else found

    def at(size, matrix):
        return q_hat + size * unlearned @ matrix @ unlearned.T

    origin, matrix = block(q_hat), np.eye(unlearned.shape[1])
    for _ in range(RESPONSES if len(matrix) > 1 else 1):
        found = block(at(LIFTS[0], matrix))
        values, vectors = np.linalg.eigh((found - origin) / LIFTS[0])
        if not np.all(np.isfinite(values)) or values[-1] <= 1.0:
            return None
        used, matrix = matrix, (vectors * np.maximum(values, 0.0) / values[-1]) @ vectors.T
    for size in LIFTS:
        raised = found if size == LIFTS[0] else block(at(size, used))
        if np.sum(raised * used) > size * np.sum(used**2):
            return at(size, used)
    return None
