"""Scan of the loss over the triangle X = e^2 >= 0, Y = m^2 >= 0, X + Y <= 1, for many (a, omega).

The loss is that of `attention_tables` (arXiv:2506.02651) without what depends on neither e nor m.
"""

import numpy as np
from numba import njit

SEMANTIC, POSITIONAL, ARC, AXIS, INTERIOR = 0, 1, 2, 3, 4


@njit(inline="always")
def _kind(i, j, n):
    """Where grid point (i, j) of the triangle i + j <= n lies."""
    if i == 0 and j == n:
        return SEMANTIC
    if i == n and j == 0:
        return POSITIONAL
    if i + j == n:
        return ARC
    if i == 0 or j == 0:
        return AXIS
    return INTERIOR


@njit(nogil=True)
def local_minima(q, mu, overlap, weight, pull, semantic, positional, found):
    """Local minima of q_i - 2 weight C_ij - 2 pull mu_i on the grid X = i/n, Y = j/n.

    A corner can be a minimum with a basin narrower than the grid, or hide one on the arc beside it: whether it is one is told.

    Parameters
    ----------
    q, mu : arrays (n + 1,)
    overlap : array (n + 1, n + 1)
        Read where i + j <= n.
    weight, pull : float
        1 - omega and omega abar.
    semantic, positional : bool
        Whether the corners (0, 1) and (1, 0) in (X, Y) are local minima.
    found : array (rows, 3) of int
        Filled with (i, j, kind).

    Returns
    -------
    count, best : int
        Number of minima (at most `rows` of them are written) and the row of the lowest.
    """
    n = len(q) - 1
    count, best, lowest = 0, -1, np.inf
    for i in range(n + 1):
        for j in range(n + 1 - i):
            here = q[i] - 2.0 * weight * overlap[i, j] - 2.0 * pull * mu[i]
            smallest = True
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    k, l = i + di, j + dj  # noqa: E741
                    if (di == 0 and dj == 0) or k < 0 or l < 0 or k + l > n:
                        continue
                    there = q[k] - 2.0 * weight * overlap[k, l] - 2.0 * pull * mu[k]
                    # Of points as low as each other the first counts: at omega = 1 the loss does not depend on m.
                    if there < here or (there == here and (di < 0 or (di == 0 and dj < 0))):
                        smallest = False
                        break
                if not smallest:
                    break
            kind = _kind(i, j, n)
            if (kind == SEMANTIC and semantic) or (kind == POSITIONAL and positional):
                smallest = True
            elif kind in (SEMANTIC, POSITIONAL):
                kind = ARC
            if smallest:
                if count < len(found):
                    found[count, 0], found[count, 1], found[count, 2] = i, j, kind
                    if here < lowest:
                        lowest, best = here, count
                count += 1
    return count, best


@njit(nogil=True)
def scan(q, mu, overlap, weights, pulls, semantic, positional, counts, kinds, where):
    """`local_minima` for many (a, omega).

    Parameters
    ----------
    q, mu, overlap
        As of `local_minima`.
    weights, pulls : arrays (points,)
    semantic, positional : arrays (points,) of bool
    counts : array (points,) of int, written
        Number of minima.
    kinds : array (points, 5) of int, increased
        Number of minima of each kind, of the first 16.
    where : array (points, 2), written
        (e, m) of the lowest.
    """
    n = len(q) - 1
    for point in range(len(weights)):
        found = np.empty((16, 3), np.int64)
        count, best = local_minima(
            q, mu, overlap, weights[point], pulls[point], semantic[point], positional[point], found
        )
        counts[point] = count
        for row in range(min(count, 16)):
            kinds[point, found[row, 2]] += 1
        where[point, 0] = np.sqrt(found[best, 0] / n)
        where[point, 1] = np.sqrt(found[best, 1] / n)
