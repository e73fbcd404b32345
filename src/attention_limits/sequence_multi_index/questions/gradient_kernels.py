"""Cross entropy of the question classifier, and its gradient by the chain rule: the backward pass of `classifier_kernels`.

The gradient in x is the gradient with respect to x. Questions are packed as for the forward pass. All arrays are in single
precision. `skip` is c, a float32. The model is that of Troiani et al. 2025 (arXiv:2502.00901, Figure 3, right).
"""

import math
from typing import NamedTuple

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.sequence_multi_index.questions.classifier_kernels import FAST, ONE, ZERO, forward


@njit
def _add_up(x, count, out):
    """out = sum of the first `count` rows of x."""
    for e in range(len(out)):
        out[e] = ZERO
    for a in range(count):
        for e in range(len(out)):
            out[e] += x[a, e]


@njit(fastmath=FAST, error_model="numpy")
def residual(logits, label):
    """Cross entropy -log softmax(logits)[label] in nats; `logits` (classes,) becomes softmax minus the one-hot vector."""
    highest = logits.max()
    chosen, total = logits[label] - highest, ZERO
    for a in range(len(logits)):
        logits[a] = math.exp(logits[a] - highest)
        total += logits[a]
    for a in range(len(logits)):
        logits[a] /= total
    logits[label] -= ONE
    return math.log(total) - chosen


class Slopes(NamedTuple):
    """Scratch of the backward pass for N tokens, n questions and M tokens of the longest question.

    inputs (2, N, embedding), gradients in the inputs of one layer and of the next; products (N, embedding); keys (N, hidden), the
    gradient in the keys; looks (M, M), the gradient in the attention of one question; pooled (n, embedding).
    """

    inputs: np.ndarray
    products: np.ndarray
    keys: np.ndarray
    looks: np.ndarray
    pooled: np.ndarray


@njit
def scratch(theta, questions, tokens, longest):
    """`Slopes` for weights `theta` and that many `questions` and `tokens`, as `space`, with its `longest`; not filled."""
    _, embedding, hidden = theta.attention.shape
    return Slopes(
        np.empty((2, tokens, embedding), dtype=np.float32),
        np.empty((tokens, embedding), dtype=np.float32),
        np.empty((tokens, hidden), dtype=np.float32),
        np.empty((longest, longest), dtype=np.float32),
        np.empty((questions, embedding), dtype=np.float32),
    )


@njit(fastmath=FAST, error_model="numpy")
def _pool_back(x, share, d_pooled, start, stop, d_looks, d_x):
    """The gradients of `_pool`: in the attention of a question, and in x at constant attention."""
    for b in range(start, stop):
        total = ZERO
        for e in range(len(d_pooled)):
            total += d_pooled[e] * x[b, e]
            d_x[b, e] = share[b] * d_pooled[e]
        # The same for every query token.
        d_looks[: stop - start, b - start] = total / np.float32(stop - start)


@njit(fastmath=FAST, error_model="numpy")
def _mix_back(x, looks, d_out, start, stop, skip, d_looks, d_x):
    """The gradients of `mix`: in the attention of a question, and in x at constant attention."""
    for b in range(start, stop):
        for e in range(x.shape[1]):
            d_x[b, e] = skip * d_out[b, e]
        for a in range(start, stop):
            weight, total = looks[a, b - start], ZERO
            for e in range(x.shape[1]):
                d_x[b, e] += weight * d_out[a, e]
                total += d_out[a, e] * x[b, e]
            d_looks[a - start, b - start] = total


@njit(fastmath=FAST, error_model="numpy")
def _look_back(keys, looks, start, stop, scale, d_looks, d_keys):
    """The gradient of `look` in the keys of a question; `d_looks` becomes the gradient in the scores."""
    length = stop - start
    for a in range(length):
        mean = ZERO
        for b in range(length):
            mean += looks[start + a, b] * d_looks[a, b]
        for b in range(length):
            d_looks[a, b] = scale * looks[start + a, b] * (d_looks[a, b] - mean)
    for a in range(length):
        for c in range(keys.shape[1]):
            d_keys[start + a, c] = ZERO
        for b in range(length):
            weight = d_looks[a, b] + d_looks[b, a]
            for c in range(keys.shape[1]):
                d_keys[start + a, c] += weight * keys[start + b, c]


@njit(inline="always")
def _backward(theta, skip, tokens, offsets, kept, slopes, gradient):
    """Write the gradient of sum d_logits logits into `gradient`, add its part in the embedding; kept.logits holds d_logits."""
    questions, count = len(offsets) - 1, offsets[-1]
    layers, _, hidden = theta.attention.shape
    scale, d_logits = np.float32(1.0 / math.sqrt(hidden)), kept.logits[:questions]
    np.dot(kept.pooled[:questions].T, d_logits, gradient.readout)
    _add_up(d_logits, questions, gradient.bias)
    np.dot(d_logits, theta.readout.T, slopes.pooled[:questions])
    for layer in range(layers - 1, -1, -1):
        x, keys, looks = kept.inputs[layer], kept.keys[layer], kept.looks[layer]
        d_x, d_out = slopes.inputs[layer % 2], slopes.inputs[(layer + 1) % 2]
        for q in range(questions):
            start, stop = offsets[q], offsets[q + 1]
            if layer == layers - 1:
                _pool_back(x, kept.share, slopes.pooled[q], start, stop, slopes.looks, d_x)
            else:
                _mix_back(x, looks, d_out, start, stop, skip, slopes.looks, d_x)
            _look_back(keys, looks, start, stop, scale, slopes.looks, slopes.keys)
        np.dot(x[:count].T, slopes.keys[:count], gradient.attention[layer])
        if theta.key_bias.size:
            _add_up(slopes.keys, count, gradient.key_bias[layer])
        np.dot(slopes.keys[:count], theta.attention[layer].T, slopes.products[:count])
        for a in range(count):
            for e in range(d_x.shape[1]):
                d_x[a, e] += slopes.products[a, e]
    for a in range(count):
        for e in range(theta.embedding.shape[1]):
            gradient.embedding[tokens[a], e] += slopes.inputs[0, a, e]


@njit(inline="always")
def mean_loss(theta, skip, tokens, offsets, labels, kept, slopes, gradient):
    """The mean cross entropy of packed questions with their `labels`, in nats; its gradient is written into `gradient`.

    Its part in the embedding is added. `theta`, `skip`, `tokens`, `offsets` and `kept` as in `forward`; `slopes` are scratch.
    """
    forward(theta, skip, tokens, offsets, kept)
    total = 0.0
    for q in range(len(labels)):
        total += residual(kept.logits[q], labels[q])
        for a in range(kept.logits.shape[1]):
            kept.logits[q, a] *= np.float32(1.0 / len(labels))
    _backward(theta, skip, tokens, offsets, kept, slopes, gradient)
    return total / len(labels)
