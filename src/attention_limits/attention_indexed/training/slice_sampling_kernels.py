"""Elliptical slice sampling (Murray, Adams, MacKay 2010) of the weights of a hardmax layer, on plain arrays."""

import math

import numpy as np

from attention_limits.numerics.compiled import njit


@njit
def products(first, second):
    """a_ab + a_ba of a_ab = f_a . g_b - delta_ab (f, g), from fields f, g = X W (n, M, r) and their weights' inner product.

    `first` and `second` are pairs (fields (n, M, r), weights (d, r)); returns (n, M, M), twice the scores up to their scale.
    """
    fields, weights = first
    others, other_weights = second
    count, tokens, rank = fields.shape
    trace = np.sum(weights * other_weights)
    result = np.empty((count, tokens, tokens))
    for sample in range(count):
        for a in range(tokens):
            for b in range(a, tokens):
                total = 0.0
                for k in range(rank):
                    total += fields[sample, a, k] * others[sample, b, k] + fields[sample, b, k] * others[sample, a, k]
                if a == b:
                    total -= 2.0 * trace
                result[sample, a, b] = result[sample, b, a] = total
    return result


@njit
def agrees(best, old, mixed, new, c, s):
    """Whether each row of `c`^2 `old` + 2 c `s` `mixed` + s^2 `new` (n, M, M) has its largest entry at `best` (n, M)."""
    count, tokens = best.shape
    for sample in range(count):
        for a in range(tokens):
            b = best[sample, a]
            top = c * c * old[sample, a, b] + 2.0 * c * s * mixed[sample, a, b] + s * s * new[sample, a, b]
            for other in range(tokens):
                if other != b:
                    value = c * c * old[sample, a, other] + 2.0 * c * s * mixed[sample, a, other]
                    if value + s * s * new[sample, a, other] > top:
                        return False
    return True


@njit
def _rotate(old, new, c, s):
    """Replace `old` (n, m) by `c` `old` + `s` `new`; numba needs 3.5 s to compile `old[:] = c * old + s * new`."""
    for i in range(old.shape[0]):
        for j in range(old.shape[1]):
            old[i, j] = c * old[i, j] + s * new[i, j]


@njit
def elliptical_step(sequences, best, weights, fields, proposal, uniform):
    """One step from `weights` (d, r), which it overwrites, and their `fields` X W (n, M, r), likewise.

    `sequences` is X (n, M, d), `proposal` standard normal (d, r), `uniform` a numpy.random.Generator for the angles. The new
    weights cos(theta) W + sin(theta) W' have the outputs `best` (n, M); the bracket of theta shrinks until they do.
    """
    count, tokens, dimension = sequences.shape
    flat = sequences.reshape(count * tokens, dimension)
    rank = proposal.shape[1]
    moved = np.dot(flat, proposal)
    start, end = (fields, weights), (moved.reshape(count, tokens, rank), proposal)
    old, mixed, new = products(start, start), products(start, end), products(end, end)
    theta = 2.0 * math.pi * uniform.random()
    low, high = theta - 2.0 * math.pi, theta
    while not agrees(best, old, mixed, new, math.cos(theta), math.sin(theta)):
        if theta < 0.0:
            low = theta
        else:
            high = theta
        theta = low + (high - low) * uniform.random()
    c, s = math.cos(theta), math.sin(theta)
    _rotate(weights, proposal, c, s)
    _rotate(fields.reshape(count * tokens, rank), moved, c, s)


@njit
def chain(sequences, best, weights, burn_in, steps, record_every, generator, distances):
    """`burn_in` and then `steps` steps from `weights` (d, r), which it overwrites; returns the mean of the recorded W W^T (d, d).

    `sequences` is X (n, M, d) with the outputs `best` (n, M), `generator` a numpy.random.Generator.

    Every `record_every` steps after the burn-in, ||W W^T - W0 W0^T||_F^2 goes into `distances` (steps / record_every,), with the
    first weights W0.
    """
    dimension, rank = weights.shape
    count, tokens, _ = sequences.shape
    fields = np.dot(sequences.reshape(count * tokens, dimension), weights).reshape(count, tokens, rank)
    start = np.dot(weights, weights.T)
    mean, proposal = np.zeros((dimension, dimension)), np.empty((dimension, rank))
    for step in range(burn_in + steps):
        for i in range(dimension):
            for k in range(rank):
                proposal[i, k] = generator.standard_normal()
        elliptical_step(sequences, best, weights, fields, proposal, generator)
        done = step + 1 - burn_in
        if done > 0 and done % record_every == 0:
            matrix = np.dot(weights, weights.T)
            mean += matrix
            distances[done // record_every - 1] = np.sum((matrix - start) ** 2)
    return mean / (steps // record_every)
