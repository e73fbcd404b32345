"""Training of the question classifier by AdamW, and its answers to many questions.

Questions are packed as in `classifier_kernels`; the sources are those of `classifier`.
"""

import math

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.sequence_multi_index.questions import classifier_kernels as passes
from attention_limits.sequence_multi_index.questions import gradient_kernels

EPSILON = np.float32(1e-8)
# Tokens that a pass over many questions takes together: their activations stay in the second cache.
TOGETHER = 512


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


@njit
def answers(theta, skip, tokens, offsets, labels, longest):
    """Share of right answers to packed questions, and mean cross entropy in nats; both are NaN if a score is no finite number.

    `theta`, `skip`, `tokens`, `offsets`, `labels` and `longest` as in `descend`.
    """
    count = len(labels)
    kept = passes.space(theta, TOGETHER, TOGETHER + longest, longest)
    own_offsets = np.empty(TOGETHER + 1, dtype=np.int64)
    # Most tokens occur in many questions.
    first_keys = np.dot(theta.embedding, theta.attention[0])
    right, loss, first = 0.0, 0.0, 0
    while first < count:
        last = first + 1
        while last < count and last < first + TOGETHER and offsets[last + 1] - offsets[first] <= TOGETHER:
            last += 1
        own = tokens[offsets[first] : offsets[last]]
        for q in range(first, last + 1):
            own_offsets[q - first] = offsets[q] - offsets[first]
        passes.forward(theta, skip, own, own_offsets[: last - first + 1], first_keys, kept)
        for q in range(first, last):
            scores, best = kept.logits[q - first], 0
            for a in range(len(scores)):
                best = a if scores[a] > scores[best] else best
                if not math.isfinite(scores[a]):
                    right = np.nan
            right += best == labels[q]
            loss += gradient_kernels.residual(scores, labels[q])
        first = last
    return right / count, loss / count
