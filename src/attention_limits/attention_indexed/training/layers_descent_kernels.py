"""Slopes of the training loss of several layers of extensive-width attention with respect to the fields of the tokens.

The model is that of docs/attention_indexed_two_layers.md for any number of layers; the slopes are derived in this module by the
chain rule. It runs in the precision of its arrays. Sums are reordered to use vector registers.
"""

import math

import numpy as np

from attention_limits.attention_indexed.training.gradient_descent_kernels import FAST
from attention_limits.numerics.compiled import njit

# Places of the M x M matrices of a sequence.
SCORES, FIRST, SECOND, BACK = range(4)


@njit(fastmath=FAST)
def times(left, i, right, j, out, k):
    """out[k] = left[i] right[j], M x M matrices of arrays (m, M, M); `out[k]` is another matrix."""
    tokens = out.shape[1]
    for a in range(tokens):
        for b in range(tokens):
            total = left[i, a, 0] * right[j, 0, b]
            for c in range(1, tokens):
                total += left[i, a, c] * right[j, c, b]
            out[k, a, b] = total


@njit(fastmath=FAST)
def times_transposed(left, i, right, j, out, k):
    """out[k] = left[i] right[j]^T, as `times`."""
    tokens = out.shape[1]
    for a in range(tokens):
        for b in range(tokens):
            total = left[i, a, 0] * right[j, b, 0]
            for c in range(1, tokens):
                total += left[i, a, c] * right[j, b, c]
            out[k, a, b] = total


@njit(fastmath=FAST)
def transposed_times(left, i, right, j, out, k):
    """out[k] = left[i]^T right[j], as `times`."""
    tokens = out.shape[1]
    for a in range(tokens):
        for b in range(tokens):
            total = left[i, 0, a] * right[j, 0, b]
            for c in range(1, tokens):
                total += left[i, c, a] * right[j, c, b]
            out[k, a, b] = total


@njit(fastmath=FAST)
def through_softmax(attention, i, slope, j, beta, out, k):
    """out[k] = slopes with respect to the scores, of slope[j] with respect to attention[i] = softmax(beta scores) by rows."""
    tokens = out.shape[1]
    for a in range(tokens):
        mean = slope[j, a, 0] * attention[i, a, 0]
        for b in range(1, tokens):
            mean += slope[j, a, b] * attention[i, a, b]
        for b in range(tokens):
            out[k, a, b] = beta * attention[i, a, b] * (slope[j, a, b] - mean)


@njit(fastmath=FAST)
def layer_slopes(fields, tokens_gram, outputs, trace, scales, skip, beta, slopes, losses, traces):
    """Derivatives of sum_mu ||y(W) - y||_F^2 with respect to the fields of n sequences, for K starts of L layers.

    Parameters
    ----------
    fields : array (n, M, L, K, r)
        x_a W_l.
    tokens_gram : array (n, M, M)
        X X^T.
    outputs : array (n, M, M)
        y.
    trace : array (L, K)
        ||W_l||_F^2 / d; the raw scores of layer l are scale (fields_a . fields_b - trace (X X^T)_ab).
    scales : array (1,)
        scale = 1 / (sqrt(r) d).
    skip, beta : numbers of the same precision
        c and beta.
    slopes : array (n, M, L, K, r)
        Receives the derivatives with respect to the fields at constant trace.
    losses : array (K,) of double precision
        The sum of the losses is added.
    traces : array (L, K) of double precision
        The derivative with respect to `trace` is added.
    """
    count, tokens, layers, starts, rank = fields.shape
    raw, attention = np.empty((2, layers, tokens, tokens), dtype=fields.dtype)
    mixing = np.empty((layers, tokens, tokens), dtype=fields.dtype)
    # Scores or their slopes, two products, and the slope that goes back to the layers before.
    part = np.empty((4, tokens, tokens), dtype=fields.dtype)
    scale, zero = scales[0], fields.dtype.type(0.0)
    for m in range(count):
        for k in range(starts):
            for layer in range(layers):
                for a in range(tokens):
                    for b in range(a, tokens):
                        total = fields[m, a, layer, k, 0] * fields[m, b, layer, k, 0]
                        for c in range(1, rank):
                            total += fields[m, a, layer, k, c] * fields[m, b, layer, k, c]
                        total = scale * (total - trace[layer, k] * tokens_gram[m, a, b])
                        raw[layer, a, b] = raw[layer, b, a] = total
                # B of the layers before; then the attention and B of this layer.
                if layer == 0:
                    for a in range(tokens):
                        for b in range(tokens):
                            mixing[0, a, b] = 1.0 if a == b else 0.0
                times(mixing, layer, raw, layer, part, FIRST)
                times_transposed(part, FIRST, mixing, layer, part, SCORES)
                for a in range(tokens):
                    largest = part[SCORES, a, 0]
                    for b in range(1, tokens):
                        largest = max(largest, part[SCORES, a, b])
                    total = zero
                    for b in range(tokens):
                        attention[layer, a, b] = math.exp(beta * (part[SCORES, a, b] - largest))
                        total += attention[layer, a, b]
                    for b in range(tokens):
                        attention[layer, a, b] /= total
                if layer + 1 < layers:
                    for a in range(tokens):
                        for b in range(tokens):
                            part[FIRST, a, b] = attention[layer, a, b] + (skip if a == b else zero)
                    times(part, FIRST, mixing, layer, mixing, layer + 1)
            loss = 0.0
            for a in range(tokens):
                for b in range(tokens):
                    difference = attention[layers - 1, a, b] - outputs[m, a, b]
                    loss += difference * difference
                    part[BACK, a, b] = 2 * difference
            losses[k] += loss
            # The last place holds the derivative with respect to the attention of the last layer, and then to B of the others.
            for layer in range(layers - 1, -1, -1):
                if layer < layers - 1:
                    times_transposed(part, BACK, mixing, layer, part, FIRST)
                    through_softmax(attention, layer, part, FIRST, beta, part, SCORES)
                else:
                    through_softmax(attention, layer, part, BACK, beta, part, SCORES)
                # Derivative with respect to the raw scores, B^T (d loss / dh) B.
                transposed_times(mixing, layer, part, SCORES, part, FIRST)
                times(part, FIRST, mixing, layer, part, SECOND)
                for a in range(tokens):
                    for b in range(tokens):
                        traces[layer, k] -= scale * part[SECOND, a, b] * tokens_gram[m, a, b]
                for a in range(tokens):
                    for c in range(rank):
                        slopes[m, a, layer, k, c] = zero
                    for b in range(tokens):
                        weight = scale * (part[SECOND, a, b] + part[SECOND, b, a])
                        for c in range(rank):
                            slopes[m, a, layer, k, c] += weight * fields[m, b, layer, k, c]
                if layer == 0:
                    continue
                # h = B raw B^T adds (d loss / dh + its transpose) B raw; B of the next layer is (attention + c I) B.
                for a in range(tokens):
                    for b in range(tokens):
                        part[FIRST, a, b] = part[SCORES, a, b] + part[SCORES, b, a]
                times(part, FIRST, mixing, layer, part, SECOND)
                times(part, SECOND, raw, layer, part, FIRST)
                if layer < layers - 1:
                    for a in range(tokens):
                        attention[layer, a, a] += skip
                    transposed_times(attention, layer, part, BACK, part, SECOND)
                    for a in range(tokens):
                        for b in range(tokens):
                            part[FIRST, a, b] += part[SECOND, a, b]
                for a in range(tokens):
                    for b in range(tokens):
                        part[BACK, a, b] = part[FIRST, a, b]
