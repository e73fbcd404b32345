"""Training of the question classifier by AdamW, and its answers to many questions.

Questions are packed as in `classifier_kernels`. The model is that of Troiani et al. 2025 (arXiv:2502.00901, Figure 3, right).
"""

import math

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.sequence_multi_index.questions import classifier_kernels as passes
from attention_limits.sequence_multi_index.questions import gradient_kernels

EPSILON = np.float32(1e-8)


@njit
def _packed(tokens, offsets, chosen, own, own_offsets):
    """The questions of the numbers `chosen`, packed into `own` and `own_offsets` (n + 1,)."""
    own_offsets[0] = 0
    for q in range(len(chosen)):
        start, stop = offsets[chosen[q]], offsets[chosen[q] + 1]
        first = own_offsets[q]
        own[first : first + stop - start] = tokens[start:stop]
        own_offsets[q + 1] = first + stop - start


@njit(fastmath=passes.FAST, error_model="numpy")
def _adamw(theta, gradient, mean, square, number, rate, decay):
    """Step `number` = 1, 2, ... of AdamW (Loshchilov and Hutter 2019; 0.9, 0.999, 1e-8) on flat arrays, in place."""
    first, second = np.float32(1.0 / (1.0 - 0.9**number)), np.float32(1.0 / (1.0 - 0.999**number))
    for p in range(len(theta)):
        slope = gradient[p]
        mean[p] = np.float32(0.9) * mean[p] + np.float32(0.1) * slope
        square[p] = np.float32(0.999) * square[p] + np.float32(0.001) * slope * slope
        step = first * mean[p] / (math.sqrt(second * square[p]) + EPSILON)
        theta[p] -= rate * (step + decay * theta[p])


@njit
def descend(theta, gradient, numbers, skip, tokens, offsets, labels, longest, order, done, rate, decay):
    """Steps of AdamW on the mean cross entropy, in place, after `done` steps.

    Parameters
    ----------
    theta, gradient : Parameters
        Views of numbers[0] and numbers[1].
    numbers : float32 array (4, parameters)
        Weights; their gradient, zero in the embedding before and after; the two averages of AdamW.
    skip, rate, decay : float32
    tokens, offsets, labels : int64 arrays (N,), (n + 1,), (n,)
        Packed questions.
    longest : int
        Largest number of tokens of a question.
    order : int64 array (steps, batch)
        The questions of each step.
    """
    batch = order.shape[1]
    own_labels = np.empty(batch, dtype=np.int64)
    own, own_offsets = np.empty(batch * longest, dtype=np.int64), np.empty(batch + 1, dtype=np.int64)
    kept = passes.space(theta, batch, batch * longest, longest)
    slopes = gradient_kernels.scratch(theta, batch, batch * longest, longest)
    for step in range(len(order)):
        _packed(tokens, offsets, order[step], own, own_offsets)
        for q in range(batch):
            own_labels[q] = labels[order[step, q]]
        gradient_kernels.mean_loss(theta, skip, own, own_offsets, own_labels, kept, slopes, gradient)
        _adamw(numbers[0], numbers[1], numbers[2], numbers[3], done + step + 1, rate, decay)
        for a in range(own_offsets[batch]):
            for e in range(gradient.embedding.shape[1]):
                gradient.embedding[own[a], e] = np.float32(0.0)


@njit(fastmath=passes.FAST, error_model="numpy")
def _share_below(looks, share, length, skip, out):
    """out_b = c share_b + sum_a looks[a, b] share_a: the weights of a layer's inputs from those of its `length` outputs."""
    for b in range(length):
        out[b] = skip * share[b]
    for a in range(length):
        for b in range(length):
            out[b] += looks[a, b] * share[a]


@njit(fastmath=passes.FAST, error_model="numpy")
def _logits(scores, bias, tokens, share, out):
    """out = bias + sum_b share_b scores[tokens[b]]."""
    out[:] = bias
    for b in range(len(tokens)):
        for k in range(len(out)):
            out[k] += share[b] * scores[tokens[b], k]


@njit
def answers(theta, skip, tokens, offsets, labels, longest):
    """Share of right answers to packed questions, and mean cross entropy in nats; both are NaN if a score is no finite number.

    `theta`, `skip`, `tokens`, `offsets`, `labels` and `longest` as in `descend`.

    The tokens x_l of layer l are A_l ... A_1 x_0 with A = c + S. So its keys x_l W are A_l ... A_1 (x_0 W), and the scores
    are those of x_0 with weights: products with W and with the readout are made once for each word, not for each token.
    """
    layers, _, hidden = theta.attention.shape
    scale, right, loss = np.float32(1.0 / math.sqrt(hidden)), 0.0, 0.0
    words = np.empty((layers, len(theta.embedding), hidden), dtype=np.float32)
    for layer in range(layers):
        np.dot(theta.embedding, theta.attention[layer], words[layer])
    scores = np.dot(theta.embedding, theta.readout)
    keys = np.empty((2, longest, hidden), dtype=np.float32)
    looks = np.empty((layers, longest, longest), dtype=np.float32)
    share, logits = np.empty((2, longest), dtype=np.float32), np.empty(len(theta.bias), dtype=np.float32)
    for q in range(len(labels)):
        own = tokens[offsets[q] : offsets[q + 1]]
        length = len(own)
        for layer in range(layers):
            passes.take(words[layer], own, keys[0])
            for before in range(layer):
                passes.mix(keys[before % 2], looks[before], 0, length, skip, keys[(before + 1) % 2])
            if theta.key_bias.size:
                passes.add(keys[layer % 2], theta.key_bias[layer], length)
            passes.look(keys[layer % 2], looks[layer], 0, length, scale)
        share[layers % 2] = np.float32(1.0 / length)
        for layer in range(layers - 1, -1, -1):
            _share_below(looks[layer], share[(layer + 1) % 2], length, skip, share[layer % 2])
        _logits(scores, theta.bias, own, share[0], logits)
        best = 0
        for a in range(len(logits)):
            best = a if logits[a] > logits[best] else best
            if not math.isfinite(logits[a]):
                right = np.nan
        right += best == labels[q]
        loss += gradient_kernels.residual(logits, labels[q])
    return right / len(labels), loss / len(labels)
