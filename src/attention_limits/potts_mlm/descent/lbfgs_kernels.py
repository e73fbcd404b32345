"""The search direction of L-BFGS: the two-loop recursion of Nocedal 1980 (Math. Comput. 35, 773)."""

import numpy as np

from attention_limits.numerics.compiled import REORDERED, njit


@njit(nogil=True, fastmath=REORDERED)
def direction(gradient, steps, changes, products, oldest, pairs, metric, out):
    """Write -H g into out (n,), with H the L-BFGS estimate of the inverse Hessian and g = `gradient` (n,).

    Parameters
    ----------
    gradient : (n,)
    steps, changes : (memory, n)
        Steps s and changes y of the gradient; row (oldest + k) % memory is the pair number k of `pairs`.
    products : (memory,)
        s . y of each pair, positive.
    oldest, pairs : int
    metric : (n,)
        Inverse of the curvature before any pair, up to a factor that the last pair sets.
    out : (n,), written
    """
    memory, size = steps.shape
    weights = np.empty(pairs)
    for p in range(size):
        out[p] = -gradient[p]
    for back in range(pairs):
        k = pairs - 1 - back
        row = (oldest + k) % memory
        step, change = steps[row], changes[row]
        total = 0.0
        for p in range(size):
            total += step[p] * out[p]
        weights[k] = total / products[row]
        for p in range(size):
            out[p] -= weights[k] * change[p]
    factor = 1.0
    if pairs:
        row = (oldest + pairs - 1) % memory
        curvature = 0.0
        for p in range(size):
            curvature += metric[p] * changes[row, p] ** 2
        factor = products[row] / curvature
    for p in range(size):
        out[p] *= factor * metric[p]
    for k in range(pairs):
        row = (oldest + k) % memory
        step, change = steps[row], changes[row]
        total = 0.0
        for p in range(size):
            total += change[p] * out[p]
        weight = weights[k] - total / products[row]
        for p in range(size):
            out[p] += weight * step[p]
