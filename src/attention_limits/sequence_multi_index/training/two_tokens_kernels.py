"""Gradient descent on batches for softmax attention layers of rank one that read two tokens.

The step of `gradient_descent`, with the gradient of the layers of Troiani et al. 2025 (arXiv:2502.00901) written out. With the
weight w_a = 1 / (1 + exp(-beta h_a (h_a - h_b))) of token a to itself, b the other token, a layer maps the fields of all later
layers to (c + w_a) h_a + (1 - w_a) h_b, and the last layer gives the output (w_1, 1 - w_1; 1 - w_2, w_2).

The two products of a step read the sequences where they lie, two layers and two sequences at once. The first step on a batch
brings them from the memory into the second cache, and asks for the next ones early. Everything is in single precision.
"""

from typing import NamedTuple

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.fast_math import exp_of
from attention_limits.numerics.simd.float32_lanes import (
    WIDTH,
    full,
    load,
    load_at,
    load_from,
    multiply_add,
    prefetch,
    store,
    total,
    zeros,
)

# Sums may be reordered. Diverged weights must stay NaN.
_FLAGS = {"nsz", "reassoc", "contract"}


class Step(NamedTuple):
    """Numbers in single precision: learning rate, weight decay, skip c and beta of the layers."""

    rate: float
    decay: float
    skip: float
    beta: float


@njit
def _part(sequences, token, j, dimension):
    """The lanes j of the token that begins at the number `token` of flat sequences; zeros after its last number."""
    at = j * WIDTH
    return (
        load_at(sequences, token + at) if at + WIDTH <= dimension else load_from(sequences, token + at, dimension - at)
    )


@njit
def _fields(sequences, numbers, dimension, weights, scale, fields):
    """scale W x of the sequences with these numbers (B,) into fields (L, 2, B); two sequences and two layers at once.

    sequences (N 2 D,) is flat; weights (L columns, WIDTH) are rows of lanes, L is even.
    """
    count, columns, zero = len(numbers), -(-dimension // WIDTH), full(np.float32(0.0))
    for first in range(0, count, 2):
        second = min(first + 1, count - 1)
        a, b = 2 * dimension * numbers[first], 2 * dimension * numbers[second]
        next_a = 2 * dimension * numbers[min(first + 2, count - 1)]
        next_b = 2 * dimension * numbers[min(first + 3, count - 1)]
        for i in range(0, 2 * dimension, WIDTH):
            prefetch(sequences, next_a + i)
            prefetch(sequences, next_b + i)
        for layer in range(0, len(fields), 2):
            h_1, h_2, h_3, h_4 = zero, zero, zero, zero
            k_1, k_2, k_3, k_4 = zero, zero, zero, zero
            for j in range(columns):
                x_1, x_2 = _part(sequences, a, j, dimension), _part(sequences, a + dimension, j, dimension)
                x_3, x_4 = _part(sequences, b, j, dimension), _part(sequences, b + dimension, j, dimension)
                w, v = load(weights, layer * columns + j), load(weights, (layer + 1) * columns + j)
                h_1, h_2 = multiply_add(w, x_1, h_1), multiply_add(w, x_2, h_2)
                h_3, h_4 = multiply_add(w, x_3, h_3), multiply_add(w, x_4, h_4)
                k_1, k_2 = multiply_add(v, x_1, k_1), multiply_add(v, x_2, k_2)
                k_3, k_4 = multiply_add(v, x_3, k_3), multiply_add(v, x_4, k_4)
            fields[layer, 0, first], fields[layer, 1, first] = scale * total(h_1), scale * total(h_2)
            fields[layer, 0, second], fields[layer, 1, second] = scale * total(h_3), scale * total(h_4)
            fields[layer + 1, 0, first], fields[layer + 1, 1, first] = scale * total(k_1), scale * total(k_2)
            fields[layer + 1, 0, second], fields[layer + 1, 1, second] = scale * total(k_3), scale * total(k_4)


@njit
def _gradient(sequences, numbers, dimension, slopes, scale, gradient):
    """scale times the sum over sequences and tokens of slopes (L, 2, B) x, added to gradient; both are as in `_fields`.

    It begins with the last sequences, which `_fields` has left in the cache.
    """
    count, columns = len(numbers), -(-dimension // WIDTH)
    for first in range(count - 2 + count % 2, -1, -2):
        second = min(first + 1, count - 1)
        # A last sequence without a second one counts once.
        twice = scale if second > first else np.float32(0.0)
        a, b = 2 * dimension * numbers[first], 2 * dimension * numbers[second]
        for layer in range(0, len(slopes), 2):
            row, next_row, later = layer * columns, (layer + 1) * columns, layer + 1
            s_1, s_2 = full(scale * slopes[layer, 0, first]), full(scale * slopes[layer, 1, first])
            s_3, s_4 = full(twice * slopes[layer, 0, second]), full(twice * slopes[layer, 1, second])
            t_1, t_2 = full(scale * slopes[later, 0, first]), full(scale * slopes[later, 1, first])
            t_3, t_4 = full(twice * slopes[later, 0, second]), full(twice * slopes[later, 1, second])
            for j in range(columns):
                x_1, x_2 = _part(sequences, a, j, dimension), _part(sequences, a + dimension, j, dimension)
                x_3, x_4 = _part(sequences, b, j, dimension), _part(sequences, b + dimension, j, dimension)
                u, v = load(gradient, row + j), load(gradient, next_row + j)
                u, v = multiply_add(s_1, x_1, u), multiply_add(t_1, x_1, v)
                u, v = multiply_add(s_2, x_2, u), multiply_add(t_2, x_2, v)
                u, v = multiply_add(s_3, x_3, u), multiply_add(t_3, x_3, v)
                store(gradient, row + j, multiply_add(s_4, x_4, u))
                store(gradient, next_row + j, multiply_add(t_4, x_4, v))


@njit(fastmath=_FLAGS, error_model="numpy")
def _slopes(fields, outputs, numbers, step, own, inner, slopes):
    """Loss of a batch, sum ||y - g(h)||^2, from the fields of the first layer, fields[0] (L, 2, B); its slopes (L, 2, B) in them.

    outputs (N, 4); fields (L, L, 2, B), own (L, 2, B) and inner (2, B) are work space: the fields that each layer reads.
    """
    depth, last, one, two = len(own), len(own) - 1, np.float32(1.0), np.float32(2.0)
    for layer in range(depth):
        (h_1, h_2), (w_1, w_2) = fields[layer, layer], own[layer]
        for k in range(len(numbers)):
            w_1[k] = one / (one + exp_of(-step.beta * h_1[k] * (h_1[k] - h_2[k])))
            w_2[k] = one / (one + exp_of(-step.beta * h_2[k] * (h_2[k] - h_1[k])))
        for later in range(layer + 1, depth):
            (h_1, h_2), (new_1, new_2) = fields[layer, later], fields[layer + 1, later]
            for k in range(len(numbers)):
                new_1[k] = (step.skip + w_1[k]) * h_1[k] + (one - w_1[k]) * h_2[k]
                new_2[k] = (step.skip + w_2[k]) * h_2[k] + (one - w_2[k]) * h_1[k]
    loss = np.float32(0.0)
    for k in range(len(numbers)):
        y = outputs[numbers[k]]
        a, b = own[last, 0, k] - y[0], (one - own[last, 0, k]) - y[1]
        c, d = (one - own[last, 1, k]) - y[2], own[last, 1, k] - y[3]
        loss += (a * a + b * b) + (c * c + d * d)
        inner[0, k], inner[1, k] = two * (a - b), two * (d - c)
    slopes[:] = np.float32(0.0)
    for layer in range(last, -1, -1):
        w_1, w_2 = own[layer]
        if layer < last:
            inner[:] = np.float32(0.0)
        for later in range(layer + 1, depth):
            (h_1, h_2), (s_1, s_2) = fields[layer, later], slopes[later]
            for k in range(len(numbers)):
                from_1, from_2 = s_1[k], s_2[k]
                inner[0, k] += from_1 * (h_1[k] - h_2[k])
                inner[1, k] += from_2 * (h_2[k] - h_1[k])
                s_1[k] = (step.skip + w_1[k]) * from_1 + (one - w_2[k]) * from_2
                s_2[k] = (step.skip + w_2[k]) * from_2 + (one - w_1[k]) * from_1
        (h_1, h_2), (s_1, s_2) = fields[layer, layer], slopes[layer]
        for k in range(len(numbers)):
            t_1 = step.beta * inner[0, k] * w_1[k] * (one - w_1[k])
            t_2 = step.beta * inner[1, k] * w_2[k] * (one - w_2[k])
            s_1[k] += t_1 * (two * h_1[k] - h_2[k]) - t_2 * h_2[k]
            s_2[k] += t_2 * (two * h_2[k] - h_1[k]) - t_1 * h_1[k]
    return loss


@njit(nogil=True)
def descend(sequences, outputs, order, reuse, step, weights):
    """Take `reuse` steps on each batch; returns the mean loss of a sequence before the steps on its batch.

    Parameters
    ----------
    sequences : float32 array (N, 2, D)
    outputs : float32 array (N, 4)
        Entries 11, 12, 21, 22.
    order : integer array (K, B)
        Numbers of the sequences of each batch.
    reuse : int
    step : Step
    weights : float32 array (L, D), changed
    """
    batches, count = order.shape
    depth, dimension = weights.shape
    flat, columns = sequences.reshape(-1), -(-dimension // WIDTH)
    # The products take two layers at once; the last layer of an odd number has a neighbour of zeros.
    pairs = depth + depth % 2
    fields, own = np.empty((depth, pairs, 2, count), np.float32), np.empty((depth, 2, count), np.float32)
    inner, slopes = np.empty((2, count), np.float32), np.zeros((pairs, 2, count), np.float32)
    rows, gradient = zeros(pairs * columns), zeros(pairs * columns)
    lanes = rows.reshape(pairs, -1)
    for layer in range(depth):
        for i in range(dimension):
            lanes[layer, i] = weights[layer, i]
    loss_of_all, scale = 0.0, np.float32(1.0 / np.sqrt(dimension))
    # The loss of a step is the sum over its batch divided by D.
    per_weight = np.float32(1.0 / (dimension * np.sqrt(dimension)))
    for batch in range(batches):
        for use in range(reuse):
            _fields(flat, order[batch], dimension, rows, scale, fields[0])
            loss = _slopes(fields, outputs, order[batch], step, own, inner, slopes)
            loss_of_all += loss if use == 0 else 0.0
            gradient[:] = np.float32(0.0)
            _gradient(flat, order[batch], dimension, slopes, per_weight, gradient)
            for row in range(len(rows)):
                for i in range(WIDTH):
                    rows[row, i] -= step.rate * (gradient[row, i] + step.decay * rows[row, i])
    for layer in range(depth):
        for i in range(dimension):
            weights[layer, i] = lanes[layer, i]
    return loss_of_all / (batches * count)
