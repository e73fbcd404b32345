"""Elliptical slice sampling (Murray, Adams, MacKay 2010) of the weights of a hardmax layer, on plain arrays."""

import math

import numpy as np

from attention_limits.numerics.compiled import njit

# Steps after which the margins are computed from the fields again: updates add their rounding.
REFRESHED = 1000


@njit
def margins(first, second, best):
    """Margins of a_ab + a_ba, a_ab = f_a . g_b - delta_ab (f, g), from fields f, g = X W and their weights' inner product.

    `first` and `second` are pairs: fields (r, M, n), weights (d, r). The margins (M (M - 1), n) are the entry of each row at
    the `best` (M, n) minus the others of the row, twice those of the scores up to their scale.
    """
    fields, weights = first
    others, other_weights = second
    rank, tokens, count = fields.shape
    trace = np.sum(weights * other_weights)
    entries, found = np.zeros((tokens, tokens, count)), np.empty((tokens * (tokens - 1), count))
    for a in range(tokens):
        for b in range(a, tokens):
            total = entries[a, b]
            # Over samples in the inner loop, which the compiler vectorises.
            for k in range(rank):
                f_a, f_b, g_a, g_b = fields[k, a], fields[k, b], others[k, a], others[k, b]
                for sample in range(count):
                    total[sample] += f_a[sample] * g_b[sample] + f_b[sample] * g_a[sample]
            if a == b:
                for sample in range(count):
                    total[sample] -= 2.0 * trace
    row = 0
    for a in range(tokens):
        # As many other entries as steps to the right of the best one, beginning again at the first.
        for step in range(1, tokens):
            for sample in range(count):
                b = best[a, sample]
                other = b + step if b + step < tokens else b + step - tokens
                top, rest = entries[min(a, b), max(a, b), sample], entries[min(a, other), max(a, other), sample]
                found[row, sample] = top - rest
            row += 1
    return found


@njit
def agrees(old, mixed, new, c, s):
    """Whether no margin `c`^2 `old` + 2 c s `mixed` + s^2 `new`, arrays (M (M - 1), n), is negative."""
    for row in range(old.shape[0]):
        for sample in range(old.shape[1]):
            if c * c * old[row, sample] + 2.0 * c * s * mixed[row, sample] + s * s * new[row, sample] < 0.0:
                return False
    return True


@njit
def _rotate(old, new, c, s):
    """Replace `old` (n, m) by `c` `old` + `s` `new`; numba needs 3.5 s to compile `old[:] = c * old + s * new`."""
    for i in range(old.shape[0]):
        for j in range(old.shape[1]):
            old[i, j] = c * old[i, j] + s * new[i, j]


@njit
def elliptical_step(sequences, best, weights, fields, old, proposal, uniform):
    """One step from `weights` (d, r), which it overwrites, and likewise their `fields` (W^T X^T, (r, M, n)) and margins `old`.

    `sequences` is X^T (d, M n), `best` (M, n) as in `margins`, `proposal` standard normal (d, r), `uniform` a
    numpy.random.Generator for the angles. The new weights cos(theta) W + sin(theta) W' have the outputs `best`; the bracket of
    theta shrinks until they do.
    """
    rank, tokens, count = fields.shape
    moved = np.dot(proposal.T, sequences)
    end = moved.reshape(rank, tokens, count), proposal
    mixed, new = margins((fields, weights), end, best), margins(end, end, best)
    theta = 2.0 * math.pi * uniform.random()
    low, high = theta - 2.0 * math.pi, theta
    while not agrees(old, mixed, new, math.cos(theta), math.sin(theta)):
        if theta < 0.0:
            low = theta
        else:
            high = theta
        theta = low + (high - low) * uniform.random()
    c, s = math.cos(theta), math.sin(theta)
    _rotate(weights, proposal, c, s)
    _rotate(fields.reshape(rank, tokens * count), moved, c, s)
    for row in range(old.shape[0]):
        for sample in range(count):
            start = c * c * old[row, sample] + 2.0 * c * s * mixed[row, sample]
            old[row, sample] = start + s * s * new[row, sample]


@njit
def chain(sequences, best, weights, burn_in, steps, record_every, generator, distances):
    """`burn_in` and then `steps` steps from `weights` (d, r), which it overwrites; returns the mean of the recorded W W^T (d, d).

    `sequences` is X (n, M, d) with the outputs `best` (n, M), `generator` a numpy.random.Generator.

    Every `record_every` steps after the burn-in, ||W W^T - W0 W0^T||_F^2 goes into `distances` (steps / record_every,), with the
    first weights W0.
    """
    dimension, rank = weights.shape
    count, tokens, _ = sequences.shape
    turned, places = np.empty((dimension, tokens * count)), np.empty((tokens, count), best.dtype)
    for sample in range(count):
        for a in range(tokens):
            places[a, sample] = best[sample, a]
            for i in range(dimension):
                turned[i, a * count + sample] = sequences[sample, a, i]
    fields = np.dot(weights.T, turned).reshape(rank, tokens, count)
    old = margins((fields, weights), (fields, weights), places)
    start = np.dot(weights, weights.T)
    mean, proposal = np.zeros((dimension, dimension)), np.empty((dimension, rank))
    for step in range(burn_in + steps):
        for i in range(dimension):
            for k in range(rank):
                proposal[i, k] = generator.standard_normal()
        if step % REFRESHED == 0:
            old = margins((fields, weights), (fields, weights), places)
        elliptical_step(turned, places, weights, fields, old, proposal, generator)
        done = step + 1 - burn_in
        if done > 0 and done % record_every == 0:
            matrix = np.dot(weights, weights.T)
            mean += matrix
            distances[done // record_every - 1] = np.sum((matrix - start) ** 2)
    return mean / (steps // record_every)
