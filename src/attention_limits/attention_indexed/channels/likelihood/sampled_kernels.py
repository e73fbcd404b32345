"""The posterior mean of scores by importance sampling, for a compiled log-likelihood (`sampled.SampledChannel`)."""

import math

import numpy as np
from numba import types

from attention_limits.numerics.compiled import FAST, njit
from attention_limits.numerics.fast_math import exp
from attention_limits.numerics.solvers.cholesky_kernels import cholesky
from attention_limits.numerics.tracing.elementary import LOOP, NODES

# Rounds of the proposal, its standard deviation over that of the weighted nodes, and the effective nodes below which another
# round follows. Largest number of times that the weights of a fit are flattened.
ROUNDS, WIDENING, ENOUGH, _FLATTENINGS = 12, 1.2, 40.0, 24


@njit(fastmath=FAST, error_model="numpy")
def _exponentials(logs, power, largest, weights):
    total = 0.0
    for s in range(NODES):
        weights[s] = exp(power * (logs[s] - largest))
        total += weights[s]
    return total


@njit(error_model="numpy")
def _weigh(logs, power, weights):
    """Write the normalised weights of log weights (NODES,) to a power; returns their effective number, zero if none is finite."""
    largest = -np.inf
    for s in range(NODES):
        largest = max(largest, logs[s])
    if not abs(largest) < np.inf:
        weights[:] = 1.0 / NODES
        return 0.0
    total = _exponentials(logs, power, largest, weights)
    squares = 0.0
    for s in range(NODES):
        weights[s] /= total
        squares += weights[s] * weights[s]
    return 1.0 / squares


@njit(fastmath=FAST, error_model="numpy")
def _place(z, mean, factor, nodes, squares, change):
    """Write z = mean + factor x (size, NODES) of nodes x, and the change |x|^2 / 2 - |z|^2 / 2 of the log-density."""
    for s in range(NODES):
        change[s] = squares[s]
    for j in range(len(mean)):
        row, centre = z[j], mean[j]
        for s in range(NODES):
            row[s] = centre
        for k in range(j + 1):
            scale, node = factor[j, k], nodes[k]
            for s in range(NODES):
                row[s] += scale * node[s]
        for s in range(NODES):
            change[s] -= 0.5 * row[s] * row[s]


@njit(fastmath=FAST, error_model="numpy")
def _mean(weights, z, mean):
    for j in range(len(mean)):
        row, total = z[j], 0.0
        for s in range(NODES):
            total += weights[s] * row[s]
        mean[j] = total


@njit(fastmath=FAST, error_model="numpy")
def _fit(weights, z, mean, spread, work):
    """Mean (size,) and covariance (size, size) of the weighted nodes z (size, NODES)."""
    _mean(weights, z, mean)
    for j in range(len(mean)):
        for s in range(NODES):
            work[s] = weights[s] * (z[j, s] - mean[j])
        for k in range(j + 1):
            row, centre, total = z[k], mean[k], 0.0
            for s in range(NODES):
                total += work[s] * (row[s] - centre)
            spread[j, k] = total
        spread[j, j] += 1e-9


@njit(error_model="numpy")
def _proposal(logs, z, weights, mean, spread, factor, work):
    """Fit a normal proposal to the nodes z (size, NODES), with flattened weights; returns whether its covariance is positive."""
    size, power = len(mean), 1.0
    wanted = min(3.0 * size, 0.5 * NODES)
    for _ in range(_FLATTENINGS):
        if not _weigh(logs, power, weights) < wanted:
            break
        power *= 0.5
    _weigh(logs, power, weights)
    _fit(weights, z, mean, spread, work)
    if not cholesky(spread, 0.0, 0.0, 0.0, factor):
        return False
    for j in range(size):
        for k in range(j + 1):
            factor[j, k] *= WIDENING
    return True


def sample(loop, observed, omega, scale, nodes, found, effective):
    """Posterior means of n outputs.

    Parameters
    ----------
    loop : compiled function
        loop(observed (k,), h (M M, NODES), out (1, NODES)), of the type LOOP: log P(y | h) of the scores h of the nodes.
    observed : array (n, k)
        The numbers of the outputs.
    omega : array (n, M, M)
    scale : float
        sqrt(V).
    nodes : array (M (M + 1) / 2, NODES)
        Standard normal entries on and above the diagonal, by rows.
    found : array (n, M (M + 1) / 2), written
        Posterior means of these entries of (h - omega) / scale, those of the diagonal over sqrt(2).
    effective : array (n,), written
        Effective numbers of nodes.
    """
    tokens, size = omega.shape[1], len(nodes)
    z, h, out = np.empty((size, NODES)), np.empty((tokens * tokens, NODES)), np.empty((1, NODES))
    squares, change, work, weights = np.zeros(NODES), np.empty(NODES), np.empty(NODES), np.empty(NODES)
    mean, factor, spread = np.empty(size), np.empty((size, size)), np.empty((size, size))
    for j in range(size):
        for s in range(NODES):
            squares[s] += 0.5 * nodes[j, s] * nodes[j, s]
    for i in range(len(omega)):
        mean[:], factor[:] = 0.0, 0.0
        for j in range(size):
            factor[j, j] = 1.0
        found[i], effective[i] = 0.0, 0.0
        for _ in range(ROUNDS):
            _place(z, mean, factor, nodes, squares, change)
            entry = 0
            for a in range(tokens):
                for b in range(a, tokens):
                    width, row, upper, lower = scale, z[entry], h[a * tokens + b], h[b * tokens + a]
                    if a == b:
                        width *= math.sqrt(2.0)
                    centre, mirrored = omega[i, a, b], omega[i, b, a]
                    for s in range(NODES):
                        upper[s] = centre + width * row[s]
                    if a != b:
                        for s in range(NODES):
                            lower[s] = mirrored + width * row[s]
                    entry += 1
            loop(observed[i], h, out)
            logs = out[0]
            for s in range(NODES):
                logs[s] = logs[s] + change[s] if logs[s] == logs[s] else -np.inf
            number = _weigh(logs, 1.0, weights)
            if number > effective[i]:
                effective[i] = number
                _mean(weights, z, found[i])
            if not number < ENOUGH or not _proposal(logs, z, weights, mean, spread, factor, work):
                break


_ONE, _TWO, _THREE = (types.Array(types.float64, axes, "C") for axes in (1, 2, 3))


def make_sample():
    """`sample`, compiled once for all functions of the type LOOP: it calls them by their address."""
    arguments = types.FunctionType(LOOP), _TWO, _THREE, types.float64, _TWO, _TWO, _ONE
    return njit(signature_or_function=types.void(*arguments), error_model="numpy", nogil=True)(sample)
