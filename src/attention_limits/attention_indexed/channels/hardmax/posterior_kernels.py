"""Posterior of the scores given the position of the largest entry of each row, in units of sqrt(V).

A value m_i is an entry of h that is the largest of one row, or of both its rows. A row's largest entry h_ab lies in row b too,
so that it is at most the largest of row b: each value has a parent above it, or none. Any other entry h_ab lies below the values
of both rows. Once the values are sorted, each other entry has one bound, the lower of its two rows, and the joint density is a
product of functions of one value each:

    f_{i|S}(x) = density of entry i at x  *  product of Phi((x - omega_ab) / sigma_ab),    a a row of i, b a row of S or of i,

with S the set of the values above i, and (a, b) not a value. Summed over all orders that respect the parents,

    A(S + i, x) = sum_i int_x^inf f_{i|S} A(S),    B(S, x) = sum_i int_-inf^x f_{i|S} B(S + i),    P(y) = A(all, -inf),

and A(S) f_{i|S} B(S + i) / P(y) is the posterior density of value i below S. Only integrals in one variable remain, for any
number of tokens; there are at most 2^(M - 1) sets S. Derived for the model of Boncoraglio et al. 2025 (arXiv:2506.01582).
"""

import math

import numpy as np

from attention_limits.attention_indexed.channels.hardmax.grid_kernels import (
    ABOVE,
    NORMAL,
    ORDER,
    WEIGHTS,
    deviation,
    nearest,
    quadrature,
    split,
)
from attention_limits.numerics.compiled import njit

# Scores further from the most likely ones than this many standard deviations are moved to this distance: their probability is
# below 1e-88.
FURTHEST = 20.0


@njit
def _bounded(row, c, i, upper, value, best):
    """Whether h[row, c] is no value and is bounded by i, the value of `row`, given the set `upper` of i and those above."""
    return value[row] == i and upper >> value[c] & 1 and best[row] != c and best[c] != row


@njit
def _factor(i, above, output, grid, f):
    """Writes f_{i|S} at the nodes of value i into f (n,); `above` is the set S as bits."""
    a, b, best, value = output.rows[i], output.columns[i], output.best, output.value
    nodes, below = grid.nodes, grid.below
    first, last = grid.begin[i] * ORDER, grid.end[i] * ORDER
    width, upper = deviation(a, b), above | 1 << i
    for j in range(first, last):
        z = (nodes[j] - output.omega[a, b]) / width
        f[j] = math.exp(-0.5 * z * z) / (width * NORMAL)
    for row in range(len(best)):
        for c in range(len(best)):
            if _bounded(row, c, i, upper, value, best):
                for j in range(first, last):
                    f[j] *= below[row, c, j]


@njit
def _admissible(i, above, parents):
    """Whether value i can be the next one below the set `above`."""
    return not above >> i & 1 and (parents[i] < 0 or above >> parents[i] & 1)


@njit
def _sets(parents):
    """The number (2^k,) of each set that holds the parents of all its members, -1 for others, and how many there are.

    Numbers rise with the bits, so that S comes before S + i.
    """
    count = len(parents)
    index, sets = np.full(1 << count, -1), 0
    for above in range(1 << count):
        closed = True
        for i in range(count):
            closed = closed and (not above >> i & 1 or parents[i] < 0 or above >> parents[i] & 1)
        if closed:
            index[above] = sets
            sets += 1
    return index, sets


@njit
def _from_above(output, grid, index, A, f):
    """Writes A (sets, n), zero before; returns the probability of the output. f (n,) is work space."""
    count, sizes = len(output.rows), grid.sizes
    A[0] = 1.0
    g, probability = np.empty(ORDER), 0.0
    for above in range(1 << count):
        for i in range(count):
            if index[above] < 0 or not _admissible(i, above, output.parents):
                continue
            _factor(i, above, output, grid, f)
            old, new, total = A[index[above]], A[index[above | 1 << i]], 0.0
            for panel in range(grid.end[i] - 1, grid.begin[i] - 1, -1):
                first = panel * ORDER
                for j in range(ORDER):
                    g[j] = sizes[panel] * f[first + j] * old[first + j]
                for j in range(ORDER):
                    part = 0.0
                    for k in range(ORDER):
                        part += ABOVE[j, k] * g[k]
                    new[first + j] += total + part
                for j in range(ORDER):
                    total += WEIGHTS[j] * g[j]
            for j in range(grid.begin[i] * ORDER):
                new[j] += total
            if above | 1 << i == (1 << count) - 1:
                probability += total
    return probability


@njit
def _from_below(output, grid, index, A, probability, f, mean):
    """Integrates B and adds to mean (M, M), on either side of the diagonal, the posterior means. f (n,) is work space."""
    count, n, sizes = len(output.rows), len(grid.nodes), grid.sizes
    B, g = np.zeros_like(A), np.empty(ORDER)
    B[-1] = 1.0
    for above in range((1 << count) - 1, -1, -1):
        for i in range(count):
            if index[above] < 0 or not _admissible(i, above, output.parents):
                continue
            _factor(i, above, output, grid, f)
            old, new, total = B[index[above | 1 << i]], B[index[above]], 0.0
            for panel in range(grid.begin[i], grid.end[i]):
                first = panel * ORDER
                whole = 0.0
                for j in range(ORDER):
                    g[j] = sizes[panel] * f[first + j] * old[first + j]
                    whole += WEIGHTS[j] * g[j]
                for j in range(ORDER):
                    part = whole
                    for k in range(ORDER):
                        part -= ABOVE[j, k] * g[k]
                    new[first + j] += total + part
                    # From this line on f is the posterior weight of the node.
                    f[first + j] = WEIGHTS[j] * g[j] * A[index[above], first + j] / probability
                total += whole
            for j in range(grid.end[i] * ORDER, n):
                new[j] += total
            _add_means(i, above | 1 << i, output, grid, f, mean)


@njit
def _add_means(i, upper, output, grid, weights, mean):
    """Adds to mean, on either side of the diagonal, the means of value i and of the entries that it bounds, given `weights`
    (n,)."""
    a, b, best, value = output.rows[i], output.columns[i], output.best, output.value
    nodes, pull = grid.nodes, grid.pull
    first, last = grid.begin[i] * ORDER, grid.end[i] * ORDER
    for j in range(first, last):
        mean[a, b] += weights[j] * (nodes[j] - output.omega[a, b])
    for row in range(len(best)):
        for c in range(len(best)):
            if _bounded(row, c, i, upper, value, best):
                for j in range(first, last):
                    mean[row, c] -= weights[j] * pull[row, c, j]


@njit
def posterior(best, omega, mean):
    """Writes E[h - omega | best] into mean (M, M), given best (M,) and omega (M, M) in units of sqrt(V); returns P(best | omega).

    The probability of a cycle of three or more rows is zero, and the mean is not defined.
    """
    tokens = len(best)
    likely = np.empty((tokens, tokens))
    distance = nearest(best, omega, likely)
    if distance > FURTHEST**2:
        moved, scale = np.empty((tokens, tokens)), FURTHEST / math.sqrt(distance)
        for a in range(tokens):
            for b in range(tokens):
                moved[a, b] = likely[a, b] + scale * (omega[a, b] - likely[a, b])
        omega = moved
    output = split(best, omega)
    grid = quadrature(output, likely)
    index, sets = _sets(output.parents)
    A, f = np.zeros((sets, len(grid.nodes))), np.empty(len(grid.nodes))
    probability = _from_above(output, grid, index, A, f)
    mean[:] = 0.0
    _from_below(output, grid, index, A, probability, f, mean)
    for a in range(tokens):
        for b in range(a):
            mean[a, b] = mean[b, a] = mean[a, b] + mean[b, a]
    return probability


@njit
def posteriors(best, omega, means, probabilities):
    """`posterior` of each output best (n, M) at omega (n, M, M), into means (n, M, M) and probabilities (n,)."""
    for sample in range(len(best)):
        probabilities[sample] = posterior(best[sample], omega[sample], means[sample])
