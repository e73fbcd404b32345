"""One output of a hardmax: values, most likely scores, and the quadrature of `posterior_kernels`, in units of sqrt(V)."""

import math
from typing import NamedTuple

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd.copying_kernels import copy_matrix

# A value is integrated over _REACH standard deviations on either side of the most likely score (the rest has a probability of
# 1e-10), on panels of _WIDTH sqrt(V) with ORDER Gauss-Legendre nodes each. Where entries are d > 1 standard deviations from
# omega, the slopes of their densities, of order d, cancel between factors: panels are d times narrower.
_REACH, _WIDTH, ORDER = 6.5, 2.0, 8
# Largest number of sweeps over the constraints of the projection, and the largest step of its last one.
_SWEEPS, _TOLERANCE = 500, 1e-2
_SQRT2, NORMAL = math.sqrt(2.0), math.sqrt(2.0 * math.pi)


def _panel():
    """Nodes and weights on [0, 1], and the integrals of the Lagrange polynomials from each node to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(ORDER)
    powers = np.eye(ORDER)
    integrals = [np.polynomial.legendre.Legendre(row).integ() for row in powers]
    above = np.array([integral(1.0) - integral(nodes) for integral in integrals]).T
    return (
        0.5 * (nodes + 1.0),
        0.5 * weights,
        0.5 * above @ np.linalg.inv(np.polynomial.legendre.legvander(nodes, ORDER - 1)),
    )


_X, WEIGHTS, ABOVE = _panel()


@njit
def deviation(a, b):
    """Standard deviation of h_ab about omega_ab in units of sqrt(V): sqrt(2) where `a` equals b, else 1."""
    return _SQRT2 if a == b else 1.0


@njit
def nearest(best, omega, h):
    """Writes into h (M, M) the most likely scores with the largest entry of row a at best[a]; returns the squared distance of
    omega (M, M) to them, in standard deviations.

    The projection on all h[a, best[a]] >= h[a, c], one constraint at a time with its multiplier (Hildreth 1957).
    """
    tokens = len(best)
    copy_matrix(omega, h)
    multipliers = np.zeros((tokens, tokens))
    for _ in range(_SWEEPS):
        largest = 0.0
        for a in range(tokens):
            b = best[a]
            up = deviation(a, b) ** 2
            for c in range(tokens):
                if c != b:
                    down = deviation(a, c) ** 2
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
            distance += ((omega[a, b] - h[a, b]) / deviation(a, b)) ** 2
    return distance


class Output(NamedTuple):
    """One output `best` (M,) at omega (M, M) with its k values: `rows` and `columns` (k,) of the values, the parent of each,
    `parents` (k,), or -1, and the `value` (M,) of each row."""

    best: np.ndarray
    omega: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    parents: np.ndarray
    value: np.ndarray


class Grid(NamedTuple):
    """Quadrature in one variable: `nodes` (n,), panel widths `sizes` (n / order,), panels begin to end of each value, (k,) and
    (k,), and `below` and `pull` (M, M, n) of `_bounds`."""

    nodes: np.ndarray
    sizes: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    below: np.ndarray
    pull: np.ndarray


@njit
def split(best, omega):
    """The `Output` of best (M,) at omega (M, M)."""
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
    nodes, sizes = np.empty(first[parts] * ORDER), np.empty(first[parts])
    for p in range(parts):
        for panel in range(first[p], first[p + 1]):
            sizes[panel] = width[p]
            for j in range(ORDER):
                nodes[panel * ORDER + j] = low[p] + width[p] * (panel - first[p] + _X[j])
    begin, end = np.empty(count, np.int64), np.empty(count, np.int64)
    for i in range(count):
        p = part[i]
        begin[i] = min(first[p + 1] - 1, first[p] + int((start[i] - low[p]) / width[p] + 1e-9))
        end[i] = min(first[p + 1], first[p] + math.ceil((stop[i] - low[p]) / width[p] - 1e-9))
    return nodes, sizes, begin, end


@njit
def _bounds(best, omega, nodes):
    """For entries that are no value: probability (M, M, n) to lie below a node, and then minus the mean distance from omega."""
    tokens = len(best)
    below, pull = np.ones((tokens, tokens, len(nodes))), np.zeros((tokens, tokens, len(nodes)))
    for a in range(tokens):
        for b in range(a, tokens):
            if best[a] == b or best[b] == a:
                continue
            width = deviation(a, b)
            for j in range(len(nodes)):
                z = (nodes[j] - omega[a, b]) / width
                if z < 9.0:
                    chance = 0.5 * math.erfc(-z / _SQRT2)
                    below[a, b, j] = below[b, a, j] = chance
                    # Smaller chances belong to nodes of other values, and do not count.
                    if chance > 1e-290:
                        pull[a, b, j] = pull[b, a, j] = width * math.exp(-0.5 * z * z) / (chance * NORMAL)
    return below, pull


@njit
def quadrature(output, likely):
    """The `Grid` of an output with the most likely scores `likely` (M, M)."""
    tokens, count = len(output.best), len(output.rows)
    centers, widths = np.empty(count), np.empty(count)
    for i in range(count):
        a, b = output.rows[i], output.columns[i]
        centers[i], widths[i] = likely[a, b], deviation(a, b)
    furthest = 1.0
    for a in range(tokens):
        for b in range(a, tokens):
            furthest = max(furthest, abs(output.omega[a, b] - likely[a, b]) / deviation(a, b))
    nodes, sizes, begin, end = _panels(centers, widths, _WIDTH / furthest)
    below, pull = _bounds(output.best, output.omega, nodes)
    return Grid(nodes, sizes, begin, end, below, pull)
