"""Posterior of the scores given the position of the largest entry of each row, in units of sqrt(V).

A value m_i is an entry of h that is the largest of one row, or of both its rows. A row's largest entry h_ab lies in row b too,
so that it is at most the largest of row b: each value has a parent above it, or none. Any other entry h_ab lies below the values
of both rows. Once the values are sorted, each other entry has one bound, the lower of its two rows, and the joint density is a
product of functions of one value each:

    f_{i|S}(x) = density of entry i at x  *  product of Phi((x - omega_ab) / sigma_ab),    a a row of i, b a row of S or of i,

with S the set of the values above i, and (a, b) not a value. Summed over all orders that respect the parents,

    A(S + i, x) = sum_i int_x^inf f_{i|S} A(S),    B(S, x) = sum_i int_-inf^x f_{i|S} B(S + i),    P(y) = A(all, -inf),

and A(S) f_{i|S} B(S + i) / P(y) is the posterior density of value i below S. Integrals in one variable are all that is left, for
any number of tokens; there are at most 2^(T - 1) sets S. Derived for the model of Boncoraglio et al. 2025 (arXiv:2506.01582).
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

# A value is integrated over _REACH standard deviations on either side of the most likely score (the rest has a probability of
# 1e-10), on panels of _WIDTH sqrt(V) with _ORDER Gauss-Legendre nodes each. Where entries are d > 1 standard deviations from
# omega, the slopes of their densities, of order d, cancel between factors: panels are d times narrower.
_REACH, _WIDTH, _ORDER = 6.5, 2.0, 8
# Scores further from the most likely ones than this many standard deviations are moved there: their probability is below 1e-88.
FURTHEST = 20.0
# Largest number of sweeps over the constraints of the projection, and the largest step of its last one.
_SWEEPS, _TOLERANCE = 500, 1e-2
_SQRT2, _NORMAL = math.sqrt(2.0), math.sqrt(2.0 * math.pi)


def _panel():
    """Nodes and weights on [0, 1], and the integrals of the Lagrange polynomials from each node to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(_ORDER)
    powers = np.eye(_ORDER)
    integrals = [np.polynomial.legendre.Legendre(row).integ() for row in powers]
    above = np.array([integral(1.0) - integral(nodes) for integral in integrals]).T
    return (
        0.5 * (nodes + 1.0),
        0.5 * weights,
        0.5 * above @ np.linalg.inv(np.polynomial.legendre.legvander(nodes, _ORDER - 1)),
    )


_X, _W, _ABOVE = _panel()


@njit
def _deviation(a, b):
    """Standard deviation of h_ab about omega_ab in units of sqrt(V)."""
    return _SQRT2 if a == b else 1.0


@njit
def nearest(best, omega, h):
    """Writes into h (T, T) the most likely scores with the largest entry of row a at best[a]; returns the squared distance of
    omega (T, T) to them, in standard deviations.

    The projection on all h[a, best[a]] >= h[a, c], one constraint at a time with its multiplier (Hildreth 1957).
    """
    tokens = len(best)
    h[:] = omega
    multipliers = np.zeros((tokens, tokens))
    for _ in range(_SWEEPS):
        largest = 0.0
        for a in range(tokens):
            b = best[a]
            up = _deviation(a, b) ** 2
            for c in range(tokens):
                if c != b:
                    down = _deviation(a, c) ** 2
                    step = max(-multipliers[a, c], (h[a, c] - h[a, b]) / (up + down))
                    multipliers[a, c] += step
                    h[a, b] = h[b, a] = h[a, b] + up * step
                    h[a, c] = h[c, a] = h[a, c] - down * step
                    largest = max(largest, abs(step))
        if largest < _TOLERANCE:
            break
    distance = 0.0
    for a in range(tokens):
        for b in range(a, tokens):
            distance += ((omega[a, b] - h[a, b]) / _deviation(a, b)) ** 2
    return distance


class Output(NamedTuple):
    """One output with its k values: `rows` and `columns` (k,) of the values, the parent of each, `parents` (k,), or -1, and the
    `value` (T,) of each row."""

    best: np.ndarray
    omega: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    parents: np.ndarray
    value: np.ndarray


class Grid(NamedTuple):
    """Quadrature in one variable: `nodes` (n,), panel widths `sizes` (n / order,), first and last panel of each value, (k,) and
    (k,), and `below` and `pull` (T, T, n) of `_bounds`."""

    nodes: np.ndarray
    sizes: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    below: np.ndarray
    pull: np.ndarray


@njit
def _output(best, omega):
    """The `Output` of best (T,) at omega (T, T)."""
    tokens = len(best)
    value, rows, columns = np.full(tokens, -1), np.empty(tokens, np.int64), np.empty(tokens, np.int64)
    count = 0
    for a in range(tokens):
        if best[best[a]] == a and best[a] < a:
            value[a] = value[best[a]]
        else:
            value[a], rows[count], columns[count] = count, a, best[a]
            count += 1
    parents = np.full(count, -1)
    for i in range(count):
        if best[columns[i]] != rows[i]:
            parents[i] = value[columns[i]]
    return Output(best, omega, rows[:count], columns[:count], parents, value)


@njit
def _panels(centers, widths, size):
    """Nodes (n,), panel widths (n / order,) and the range of panels of each value, (k,) and (k,).

    Intervals about `centers` (k,), with standard deviations `widths` (k,), are joined where they overlap, and cut into panels of
    at most `size`.
    """
    count = len(centers)
    low, high, part = np.empty(count), np.empty(count), np.empty(count, np.int64)
    start, stop, order = np.empty(count), np.empty(count), np.empty(count, np.int64)
    for i in range(count):
        start[i], stop[i] = centers[i] - _REACH * widths[i], centers[i] + _REACH * widths[i]
        place = i
        while place > 0 and start[order[place - 1]] > start[i]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = i
    parts = 0
    for i in order:
        if parts > 0 and start[i] <= high[parts - 1]:
            high[parts - 1] = max(high[parts - 1], stop[i])
        else:
            low[parts], high[parts] = start[i], stop[i]
            parts += 1
        part[i] = parts - 1
    first, width = np.zeros(parts + 1, np.int64), np.empty(parts)
    for p in range(parts):
        number = max(1, math.ceil((high[p] - low[p]) / size))
        first[p + 1], width[p] = first[p] + number, (high[p] - low[p]) / number
    nodes, sizes = np.empty(first[parts] * _ORDER), np.empty(first[parts])
    for p in range(parts):
        for panel in range(first[p], first[p + 1]):
            sizes[panel] = width[p]
            for j in range(_ORDER):
                nodes[panel * _ORDER + j] = low[p] + width[p] * (panel - first[p] + _X[j])
    begin, end = np.empty(count, np.int64), np.empty(count, np.int64)
    for i in range(count):
        p = part[i]
        begin[i] = min(first[p + 1] - 1, first[p] + int((start[i] - low[p]) / width[p] + 1e-9))
        end[i] = min(first[p + 1], first[p] + math.ceil((stop[i] - low[p]) / width[p] - 1e-9))
    return nodes, sizes, begin, end


@njit
def _bounds(best, omega, nodes):
    """Probability (T, T, n) that an entry that is no value lies below a node, and minus its mean distance from omega then."""
    tokens = len(best)
    below, pull = np.ones((tokens, tokens, len(nodes))), np.zeros((tokens, tokens, len(nodes)))
    for a in range(tokens):
        for b in range(a, tokens):
            if best[a] == b or best[b] == a:
                continue
            width = _deviation(a, b)
            for j in range(len(nodes)):
                z = (nodes[j] - omega[a, b]) / width
                if z < 9.0:
                    chance = 0.5 * math.erfc(-z / _SQRT2)
                    below[a, b, j] = below[b, a, j] = chance
                    # Smaller chances belong to nodes of other values, and do not count.
                    if chance > 1e-290:
                        pull[a, b, j] = pull[b, a, j] = width * math.exp(-0.5 * z * z) / (chance * _NORMAL)
    return below, pull


@njit
def _grid(output, likely):
    """The `Grid` of an output with the most likely scores `likely` (T, T)."""
    tokens, count = len(output.best), len(output.rows)
    centers, widths = np.empty(count), np.empty(count)
    for i in range(count):
        a, b = output.rows[i], output.columns[i]
        centers[i], widths[i] = likely[a, b], _deviation(a, b)
    furthest = 1.0
    for a in range(tokens):
        for b in range(a, tokens):
            furthest = max(furthest, abs(output.omega[a, b] - likely[a, b]) / _deviation(a, b))
    nodes, sizes, begin, end = _panels(centers, widths, _WIDTH / furthest)
    below, pull = _bounds(output.best, output.omega, nodes)
    return Grid(nodes, sizes, begin, end, below, pull)


@njit
def _bounded(row, c, i, here, value, best):
    """Whether h[row, c] is no value and is bounded by i, the value of `row`, given the set `here` of i and those above."""
    return value[row] == i and here >> value[c] & 1 and best[row] != c and best[c] != row


@njit
def _factor(i, above, output, grid, f):
    """Writes f_{i|S} at the nodes of value i into f (n,); `above` is the set S as bits."""
    a, b, best, value, nodes, below = (
        output.rows[i],
        output.columns[i],
        output.best,
        output.value,
        grid.nodes,
        grid.below,
    )
    first, last = grid.begin[i] * _ORDER, grid.end[i] * _ORDER
    width, here = _deviation(a, b), above | 1 << i
    for j in range(first, last):
        z = (nodes[j] - output.omega[a, b]) / width
        f[j] = math.exp(-0.5 * z * z) / (width * _NORMAL)
    for row in range(len(best)):
        for c in range(len(best)):
            if _bounded(row, c, i, here, value, best):
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
    g, probability = np.empty(_ORDER), 0.0
    for above in range(1 << count):
        for i in range(count):
            if index[above] < 0 or not _admissible(i, above, output.parents):
                continue
            _factor(i, above, output, grid, f)
            old, new, total = A[index[above]], A[index[above | 1 << i]], 0.0
            for panel in range(grid.end[i] - 1, grid.begin[i] - 1, -1):
                first = panel * _ORDER
                for j in range(_ORDER):
                    g[j] = sizes[panel] * f[first + j] * old[first + j]
                for j in range(_ORDER):
                    part = 0.0
                    for k in range(_ORDER):
                        part += _ABOVE[j, k] * g[k]
                    new[first + j] += total + part
                for j in range(_ORDER):
                    total += _W[j] * g[j]
            for j in range(grid.begin[i] * _ORDER):
                new[j] += total
            if above | 1 << i == (1 << count) - 1:
                probability += total
    return probability


@njit
def _from_below(output, grid, index, A, probability, f, mean):
    """Integrates B and adds to mean (T, T), on either side of the diagonal, the posterior means. f (n,) is work space."""
    count, n, sizes = len(output.rows), len(grid.nodes), grid.sizes
    B, g = np.zeros_like(A), np.empty(_ORDER)
    B[-1] = 1.0
    for above in range((1 << count) - 1, -1, -1):
        for i in range(count):
            if index[above] < 0 or not _admissible(i, above, output.parents):
                continue
            _factor(i, above, output, grid, f)
            old, new, total = B[index[above | 1 << i]], B[index[above]], 0.0
            for panel in range(grid.begin[i], grid.end[i]):
                first = panel * _ORDER
                whole = 0.0
                for j in range(_ORDER):
                    g[j] = sizes[panel] * f[first + j] * old[first + j]
                    whole += _W[j] * g[j]
                for j in range(_ORDER):
                    part = whole
                    for k in range(_ORDER):
                        part -= _ABOVE[j, k] * g[k]
                    new[first + j] += total + part
                    # From here on f is the posterior weight of the node.
                    f[first + j] = _W[j] * g[j] * A[index[above], first + j] / probability
                total += whole
            for j in range(grid.end[i] * _ORDER, n):
                new[j] += total
            _add_means(i, above | 1 << i, output, grid, f, mean)


@njit
def _add_means(i, here, output, grid, weights, mean):
    """Adds to mean, on either side of the diagonal, the means of value i and of the entries that it bounds, given `weights`
    (n,)."""
    a, b, best, value, nodes, pull = output.rows[i], output.columns[i], output.best, output.value, grid.nodes, grid.pull
    first, last = grid.begin[i] * _ORDER, grid.end[i] * _ORDER
    for j in range(first, last):
        mean[a, b] += weights[j] * (nodes[j] - output.omega[a, b])
    for row in range(len(best)):
        for c in range(len(best)):
            if _bounded(row, c, i, here, value, best):
                for j in range(first, last):
                    mean[row, c] -= weights[j] * pull[row, c, j]


@njit
def posterior(best, omega, mean):
    """Writes E[h - omega | best] into mean (T, T), given best (T,) and omega (T, T) in units of sqrt(V); returns P(best | omega).

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
    output = _output(best, omega)
    grid = _grid(output, likely)
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
    """`posterior` of each output best (n, T) at omega (n, T, T), into means (n, T, T) and probabilities (n,)."""
    for sample in range(len(best)):
        probabilities[sample] = posterior(best[sample], omega[sample], means[sample])
