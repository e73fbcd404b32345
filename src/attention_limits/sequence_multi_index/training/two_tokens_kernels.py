"""Gradient descent on batches for softmax attention layers of rank one that read two tokens.

The step of `gradient_descent`, with the gradient of the layers of Troiani et al. 2025 (arXiv:2502.00901) written out. With the
weight w_a = 1 / (1 + exp(-beta h_a (h_a - h_b))) of token a to itself, b the other token, a layer maps the fields of all later
layers to (c + w_a) h_a + (1 - w_a) h_b, and the last layer gives the output (w_1, 1 - w_1; 1 - w_2, w_2).

The two products of a step read the sequences where they lie; the first step on a batch brings them into the second cache.
Everything is in single precision.
"""

from typing import NamedTuple

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.fast_math import exp_of

# Sums may be reordered. Diverged weights must stay NaN.
_FLAGS = {"nsz", "reassoc", "contract"}


class Step(NamedTuple):
    """Numbers in single precision: learning rate, weight decay, skip c and beta of the layers."""

    rate: float
    decay: float
    skip: float
    beta: float


@njit(fastmath=_FLAGS)
def _fields(sequences, numbers, weights, scale, fields):
    """scale W x of the sequences (N, 2, D) with these numbers (B,) into fields (L, 2, B); two sequences at once."""
    count, dimension = len(numbers), weights.shape[1]
    for first in range(0, count, 2):
        second = min(first + 1, count - 1)
        x_1, x_2 = sequences[numbers[first], 0], sequences[numbers[first], 1]
        x_3, x_4 = sequences[numbers[second], 0], sequences[numbers[second], 1]
        for layer in range(len(weights)):
            w = weights[layer]
            h_1 = h_2 = h_3 = h_4 = np.float32(0.0)
            for i in range(dimension):
                h_1 += w[i] * x_1[i]
                h_2 += w[i] * x_2[i]
                h_3 += w[i] * x_3[i]
                h_4 += w[i] * x_4[i]
            fields[layer, 0, first], fields[layer, 1, first] = scale * h_1, scale * h_2
            fields[layer, 0, second], fields[layer, 1, second] = scale * h_3, scale * h_4


@njit(fastmath=_FLAGS)
def _gradient(sequences, numbers, slopes, scale, gradient):
    """scale times the sum over sequences and tokens of slopes (L, 2, B) x, added to gradient (L, D)."""
    count, dimension = len(numbers), gradient.shape[1]
    for first in range(0, count, 2):
        second = min(first + 1, count - 1)
        # A last sequence without a second one counts once.
        twice = scale if second > first else np.float32(0.0)
        x_1, x_2 = sequences[numbers[first], 0], sequences[numbers[first], 1]
        x_3, x_4 = sequences[numbers[second], 0], sequences[numbers[second], 1]
        for layer in range(len(gradient)):
            row = gradient[layer]
            s_1, s_2 = scale * slopes[layer, 0, first], scale * slopes[layer, 1, first]
            s_3, s_4 = twice * slopes[layer, 0, second], twice * slopes[layer, 1, second]
            for i in range(dimension):
                row[i] += (s_1 * x_1[i] + s_2 * x_2[i]) + (s_3 * x_3[i] + s_4 * x_4[i])


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
    fields, own = np.empty((depth, depth, 2, count), np.float32), np.empty((depth, 2, count), np.float32)
    inner, slopes = np.empty((2, count), np.float32), np.empty((depth, 2, count), np.float32)
    gradient, total = np.empty((depth, dimension), np.float32), 0.0
    scale = np.float32(1.0 / np.sqrt(dimension))
    # The loss of a step is the sum over its batch divided by D.
    per_weight = np.float32(1.0 / (dimension * np.sqrt(dimension)))
    for batch in range(batches):
        for use in range(reuse):
            _fields(sequences, order[batch], weights, scale, fields[0])
            loss = _slopes(fields, outputs, order[batch], step, own, inner, slopes)
            total += loss if use == 0 else 0.0
            gradient[:] = np.float32(0.0)
            _gradient(sequences, order[batch], slopes, per_weight, gradient)
            for layer in range(depth):
                for i in range(dimension):
                    weights[layer, i] -= step.rate * (gradient[layer, i] + step.decay * weights[layer, i])
    return total / (batches * count)
