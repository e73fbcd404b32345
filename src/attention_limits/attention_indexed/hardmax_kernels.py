"""Gibbs sampling of scores given the position of the largest entry of each row; `generator` is a numpy.random.Generator.

Derived for the model of Boncoraglio et al. 2025 (arXiv:2506.01582).
"""

import math

import numpy as np
from numba import njit


@njit
def truncated_normal(low, high, generator):
    """A standard normal between low < high, by rejection (Robert 1995): from the normal, a shifted exponential or the uniform."""
    if high < 0.0:
        return -truncated_normal_above(-high, -low, generator)
    if low > 0.0:
        return truncated_normal_above(low, high, generator)
    while True:
        if high - low > math.sqrt(2.0 * math.pi):
            x = generator.standard_normal()
            if low <= x <= high:
                return x
        else:
            x = low + (high - low) * generator.random()
            if generator.random() <= math.exp(-0.5 * x * x):
                return x


@njit
def truncated_normal_above(low, high, generator):
    """`truncated_normal` at 0 <= low < high."""
    rate = 0.5 * (low + math.sqrt(low * low + 4.0))
    while True:
        if (high - low) * rate > 1.0:
            x = low + generator.standard_exponential() / rate
            if x <= high and generator.random() <= math.exp(-0.5 * (x - rate) ** 2):
                return x
        else:
            x = low + (high - low) * generator.random()
            if generator.random() <= math.exp(0.5 * (low * low - x * x)):
                return x


@njit
def truncated_mean(low, high):
    """The mean of a standard normal between low < high."""
    if high < 0.0:
        return -truncated_mean(-high, -low)
    if high - low < 1e-3:
        return 0.5 * (low + high) * (1.0 - (high - low) ** 2 / 12.0)
    if low > 25.0:
        # An exponential: the distance from `low` to relative order 1 / low^2.
        rate = low + 1.0 / low
        rest = (high - low) * rate
        return low + 1.0 / rate - (0.0 if rest > 700.0 else (high - low) / math.expm1(rest))
    probability = 0.5 * (math.erfc(low / math.sqrt(2.0)) - math.erfc(high / math.sqrt(2.0)))
    return (math.exp(-0.5 * low * low) - math.exp(-0.5 * high * high)) / (probability * math.sqrt(2.0 * math.pi))


@njit
def row_bounds(h, best, row, column):
    """Between which values h[row, column], h (T, T), leaves the largest entry of `row` where it is, at best[row]."""
    if best[row] != column:
        return -np.inf, h[row, best[row]]
    low = -np.inf
    for other in range(h.shape[0]):
        if other != column:
            low = max(low, h[row, other])
    return low, np.inf


@njit
def feasible(best, scale, h):
    """Writes into h (T, T) some symmetric scores with the largest entry of row a at best[a].

    Following a -> best[a] the largest entries grow until a row that is its own or its successor's best: minus the number of
    steps to there, in units of `scale`, at the best, and less elsewhere.
    """
    tokens = h.shape[0]
    h[:] = -(tokens + 1.0) * scale
    for a in range(tokens):
        row, steps = a, 0
        while best[best[row]] != row and best[row] != row:
            row, steps = best[row], steps + 1
        h[a, best[a]] = h[best[a], a] = -steps * scale


@njit
def gibbs_means(best, omega, V, sweeps, generator, means):
    """Writes into means (2, n, T, T) the means of h - omega over `sweeps` sweeps of two chains, after as many for equilibration.

    h given best (n, T): entries independent normal about omega (n, T, T), of variance 2 V on the diagonal and V off it, with the
    largest entry of row a at best[a]. What is averaged is the mean of each entry given the others: no noise where no bound is
    near.
    """
    count, tokens = best.shape
    h = np.empty((tokens, tokens))
    for chain in range(2):
        for sample in range(count):
            feasible(best[sample], math.sqrt(V), h)
            total = means[chain, sample]
            total[:] = 0.0
            for sweep in range(2 * sweeps):
                for a in range(tokens):
                    for b in range(a, tokens):
                        low, high = row_bounds(h, best[sample], a, b)
                        width = math.sqrt(2.0 * V)
                        if a != b:
                            other_low, other_high = row_bounds(h, best[sample], b, a)
                            low, high = max(low, other_low), min(high, other_high)
                            width = math.sqrt(V)
                        center = omega[sample, a, b]
                        low, high = (low - center) / width, (high - center) / width
                        h[a, b] = h[b, a] = center + width * truncated_normal(low, high, generator)
                        if sweep >= sweeps:
                            total[a, b] += width * truncated_mean(low, high) / sweeps
            for a in range(tokens):
                for b in range(a):
                    total[a, b] = total[b, a]
