"""Forward pass of the question classifier.

n questions are packed: their tokens stand one after the other without padding, those of question q from offsets[q] to
offsets[q + 1] - 1, N in all. The layers are those of `classifier` (Troiani et al. 2025, arXiv:2502.00901, Figure 3, right). The
mean over the tokens of the last layer needs only the column sums of its attention. All arrays are in single precision. `skip` is
c, a float32.
"""

import math
from typing import NamedTuple

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.fast_math import exp_single

# Sums may be reordered; numbers that diverge are NaN and stay so.
FAST = {"nsz", "reassoc", "contract"}
ZERO, ONE = np.float32(0.0), np.float32(1.0)


class Parameters(NamedTuple):
    """Weights, or a number for each of them, float32.

    Attributes
    ----------
    embedding : array (size, embedding)
    attention : array (layers, embedding, hidden)
    readout : array (embedding, classes)
    bias : array (classes,)
    key_bias : array (layers, hidden)
        b_l; without entries, (layers, 0), where the keys carry none.
    """

    embedding: np.ndarray
    attention: np.ndarray
    readout: np.ndarray
    bias: np.ndarray
    key_bias: np.ndarray


class Kept(NamedTuple):
    """Activations of n packed questions, which the backward pass reads.

    inputs (layers, N, embedding) of the layers; keys (layers, N, hidden); looks (layers, N, longest question), the attention of a
    token to the tokens of its question; share (N,), the weight of each token's input of the last layer in the mean of its output;
    pooled (n, embedding), this mean; logits (n, classes).
    """

    inputs: np.ndarray
    keys: np.ndarray
    looks: np.ndarray
    share: np.ndarray
    pooled: np.ndarray
    logits: np.ndarray


@njit
def space(theta, questions, tokens, longest):
    """A `Kept` for weights `theta`, that many `questions` and `tokens`, and the length of the `longest` question; not filled."""
    layers, embedding, hidden = theta.attention.shape
    return Kept(
        np.empty((layers, tokens, embedding), dtype=np.float32),
        np.empty((layers, tokens, hidden), dtype=np.float32),
        np.empty((layers, tokens, longest), dtype=np.float32),
        np.empty(tokens, dtype=np.float32),
        np.empty((questions, embedding), dtype=np.float32),
        np.empty((questions, len(theta.bias)), dtype=np.float32),
    )


@njit
def take(table, tokens, out):
    """out[a] = table[tokens[a]]; a loop over the entries is four times as fast as the assignment of rows."""
    for a in range(len(tokens)):
        row = tokens[a]
        for e in range(table.shape[1]):
            out[a, e] = table[row, e]


@njit
def add(x, row, count):
    """Add `row` to the first `count` rows of `x`."""
    for a in range(count):
        for e in range(len(row)):
            x[a, e] += row[e]


@njit(fastmath=FAST, error_model="numpy")
def look(keys, looks, start, stop, scale):
    """looks[a, b - start] = softmax_b(scale k_a . k_b) of the tokens a and b of a question, from `start` to `stop` - 1.

    `keys` are (N, hidden), `looks` (N, longest question), written.
    """
    for b in range(start, stop, 4):
        # Four products share the loads of a key. Behind the last token it is repeated.
        second, third, fourth = min(b + 1, stop - 1), min(b + 2, stop - 1), min(b + 3, stop - 1)
        for a in range(b, stop):
            of_first, of_second, of_third, of_fourth = ZERO, ZERO, ZERO, ZERO
            for c in range(keys.shape[1]):
                key = keys[a, c]
                of_first += key * keys[b, c]
                of_second += key * keys[second, c]
                of_third += key * keys[third, c]
                of_fourth += key * keys[fourth, c]
            looks[a, b - start] = looks[b, a - start] = scale * of_first
            looks[a, second - start] = looks[second, a - start] = scale * of_second
            looks[a, third - start] = looks[third, a - start] = scale * of_third
            looks[a, fourth - start] = looks[fourth, a - start] = scale * of_fourth
    for a in range(start, stop):
        # Of all scores of finite keys, one on the diagonal overflows first. `exp_single` does not know NaN.
        if not math.isfinite(looks[a, a - start]):
            looks[a, : stop - start] = np.nan
            continue
        highest = looks[a, 0]
        for b in range(1, stop - start):
            highest = max(highest, looks[a, b])
        total = ZERO
        for b in range(stop - start):
            looks[a, b] = exp_single(looks[a, b] - highest)
            total += looks[a, b]
        for b in range(stop - start):
            looks[a, b] *= ONE / total


@njit(fastmath=FAST, error_model="numpy")
def mix(x, looks, start, stop, skip, out):
    """out_a = c x_a + sum_b looks[a, b - start] x_b for the tokens a and b of a question, from `start` to `stop` - 1.

    `x` and `out` are (N, anything), `skip` is c.
    """
    for a in range(start, stop):
        for e in range(x.shape[1]):
            out[a, e] = skip * x[a, e]
        for b in range(start, stop):
            weight = looks[a, b - start]
            for e in range(x.shape[1]):
                out[a, e] += weight * x[b, e]


@njit(fastmath=FAST, error_model="numpy")
def _pool(x, looks, start, stop, skip, share, pooled):
    """share_b = (c + sum_a looks[a, b - start]) / M, and pooled = sum_b share_b x_b for the M tokens of a question."""
    pooled[:] = ZERO
    share[start:stop] = skip
    for a in range(start, stop):
        for b in range(start, stop):
            share[b] += looks[a, b - start]
    for b in range(start, stop):
        share[b] /= np.float32(stop - start)
        for e in range(len(pooled)):
            pooled[e] += share[b] * x[b, e]


@njit(inline="always")
def forward(theta, skip, tokens, offsets, kept):
    """Fill `kept` for packed questions: numbers `tokens` (N,) and `offsets` (n + 1,); its arrays may be longer.

    `theta` are `Parameters`, `skip` is c.
    """
    layers, _, hidden = theta.attention.shape
    count, scale = offsets[-1], np.float32(1.0 / math.sqrt(hidden))
    take(theta.embedding, tokens[:count], kept.inputs[0])
    for layer in range(layers):
        x, keys, looks = kept.inputs[layer], kept.keys[layer], kept.looks[layer]
        np.dot(x[:count], theta.attention[layer], keys[:count])
        if theta.key_bias.size:
            add(keys, theta.key_bias[layer], count)
        for q in range(len(offsets) - 1):
            start, stop = offsets[q], offsets[q + 1]
            look(keys, looks, start, stop, scale)
            if layer < layers - 1:
                mix(x, looks, start, stop, skip, kept.inputs[layer + 1])
            else:
                _pool(x, looks, start, stop, skip, kept.share, kept.pooled[q])
    questions = len(offsets) - 1
    np.dot(kept.pooled[:questions], theta.readout, kept.logits[:questions])
    add(kept.logits, theta.bias, questions)
