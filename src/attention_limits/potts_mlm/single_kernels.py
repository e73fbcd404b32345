"""Loss and gradient of single attention layers in single precision, for sixteen sequences side by side.

The models are those of `factored_kernels` and `mixed_kernels`, and the functions take the same arguments. An array (L L, WIDTH)
holds the attention of sixteen sequences, an array (L C, WIDTH) a row of C colours for each of their sites. Sums over sequences
are kept in double precision, or lane by lane.
"""

import numpy as np

from attention_limits.numerics import lanes
from attention_limits.numerics.compiled import njit
from attention_limits.numerics.fast_math import log
from attention_limits.numerics.lane_products import product
from attention_limits.numerics.lanes import WIDTH, full, load, store
from attention_limits.potts_mlm import encoder_kernels as blocks


@njit
def _tokens(sequences, start, tokens):
    """Sequences start, start + 1, ... as columns of tokens (L, WIDTH); idle lanes repeat the first. Returns the number in use."""
    used = min(WIDTH, len(sequences) - start)
    for k in range(WIDTH):
        row = sequences[start + (k if k < used else 0)]
        for i in range(len(row)):
            tokens[i, k] = row[i]
    return used


@njit
def _gather(values, tokens, gathered):
    """gathered[j C + a, k] = values[s_kj, a]."""
    colors = values.shape[1]
    for j in range(len(tokens)):
        for a in range(colors):
            for k in range(WIDTH):
                gathered[j * colors + a, k] = values[tokens[j, k], a]


@njit
def _residuals(logits, tokens, colors, used, totals, own):
    """The sum of -log softmax(logits)[s_ki] over sites and used lanes; `logits` become softmax minus the one-hot vectors.

    logits (L C, WIDTH) become zero in idle lanes; totals and own (L, WIDTH) are scratch.
    """
    sites = len(tokens)
    for i in range(sites):
        first = i * colors
        highest = load(logits, first)
        for a in range(1, colors):
            highest = lanes.maximum(highest, load(logits, first + a))
        total = full(np.float32(0.0))
        for a in range(colors):
            value = load(logits, first + a) - highest
            store(logits, first + a, value)
        for k in range(WIDTH):
            own[i, k] = logits[first + tokens[i, k], k]
        for a in range(colors):
            value = lanes.exp(load(logits, first + a))
            store(logits, first + a, value)
            total = total + value
        store(totals, i, total)
        inverse = full(np.float32(1.0)) / total
        for a in range(colors):
            store(logits, first + a, load(logits, first + a) * inverse)
        for k in range(WIDTH):
            logits[first + tokens[i, k], k] -= np.float32(1.0)
    if used < WIDTH:
        logits[:, used:] = np.float32(0.0)
    loss = 0.0
    for i in range(sites):
        for k in range(used):
            loss += log(np.float64(totals[i, k])) - own[i, k]
    return loss


@njit
def _scatter(received, tokens, colors, d_values):
    """d_values[s_kj, a] += received[j C + a, k]."""
    for j in range(len(tokens)):
        for k in range(WIDTH):
            row = tokens[j, k]
            for a in range(colors):
                d_values[row, a] += received[j * colors + a, k]


@njit
def factored(attention, values, sequences, d_attention, d_values):
    """`factored_kernels.loss_and_gradient` in single precision, of attention, values and sequences as there.

    Returns the mean loss; writes the gradient into d_attention and d_values.
    """
    count, sites = sequences.shape
    colors = values.shape[1]
    single = values.astype(np.float32)
    looks = np.empty((sites * sites, WIDTH), dtype=np.float32)
    for i in range(sites):
        for j in range(sites):
            looks[i * sites + j] = attention[i, j]
    tokens = np.empty((sites, WIDTH), dtype=np.int64)
    gathered, logits, received = np.empty((3, sites * colors, WIDTH), dtype=np.float32)
    change = np.zeros((sites * sites, WIDTH), dtype=np.float32)
    totals, own = np.empty((2, sites, WIDTH), dtype=np.float32)
    d_values[:] = 0.0
    total = 0.0
    for start in range(0, count, WIDTH):
        used = _tokens(sequences, start, tokens)
        _gather(single, tokens, gathered)
        product(looks, sites, 1, gathered, colors, 1, sites, logits, 0, sites, colors, False)
        total += _residuals(logits, tokens, colors, used, totals, own)
        product(logits, colors, 1, gathered, 1, colors, colors, change, 0, sites, sites, True)
        product(looks, 1, sites, logits, colors, 1, sites, received, 0, sites, colors, False)
        _scatter(received, tokens, colors, d_values)
    scale = 1.0 / (count * sites)
    for i in range(sites):
        for j in range(sites):
            d_attention[i, j] = 0.0
            if i != j:
                for k in range(WIDTH):
                    d_attention[i, j] += scale * change[i * sites + j, k]
    d_values *= scale
    return total * scale


@njit
def mixed(scores, values, sequences, mixing, softmax, d_scores, d_values):
    """`mixed_kernels.loss_and_gradient` in single precision, of scores, values, sequences, mixing and softmax as there.

    Returns the mean loss; writes the gradient into d_scores and d_values.
    """
    count, sites = sequences.shape
    colors, directions = values.shape[1], scores.shape[1]
    single = values.astype(np.float32)
    # The parts of a score that depend on the place and on the colour: (1 - a) q_i[j] and a q_i[s_j].
    queries = mixing * scores[-1] + (1.0 - mixing) * scores[:sites]
    of_place, of_color = ((1.0 - mixing) * queries).astype(np.float32), (mixing * queries).astype(np.float32)
    d_color = np.zeros((sites, directions))
    tokens = np.empty((sites, WIDTH), dtype=np.int64)
    gathered, logits, received = np.empty((3, sites * colors, WIDTH), dtype=np.float32)
    looks, change = np.empty((2, sites * sites, WIDTH), dtype=np.float32)
    d_place = np.zeros((sites * sites, WIDTH), dtype=np.float32)
    totals, own = np.empty((2, sites, WIDTH), dtype=np.float32)
    itself = np.zeros((sites, WIDTH), dtype=np.float32)
    d_scores[:], d_values[:] = 0.0, 0.0
    total = 0.0
    for start in range(0, count, WIDTH):
        used = _tokens(sequences, start, tokens)
        _gather(single, tokens, gathered)
        for i in range(sites):
            for j in range(sites):
                for k in range(WIDTH):
                    looks[i * sites + j, k] = of_place[i, j] + of_color[i, tokens[j, k]]
            looks[i * sites + i] = of_place[i, i]
            if softmax:
                blocks.softmax(looks, i * sites, sites, np.float32(1.0))
                itself[i] = looks[i * sites + i]
            looks[i * sites + i] = np.float32(0.0)
        product(looks, sites, 1, gathered, colors, 1, sites, logits, 0, sites, colors, False)
        total += _residuals(logits, tokens, colors, used, totals, own)
        product(logits, colors, 1, gathered, 1, colors, colors, change, 0, sites, sites, False)
        product(looks, 1, sites, logits, colors, 1, sites, received, 0, sites, colors, False)
        _scatter(received, tokens, colors, d_values)
        for i in range(sites):
            first = i * sites
            store(change, first + i, full(np.float32(0.0)))
            if softmax:
                mean = full(np.float32(0.0))
                for j in range(sites):
                    mean = mean + load(looks, first + j) * load(change, first + j)
                for j in range(sites):
                    store(change, first + j, load(looks, first + j) * (load(change, first + j) - mean))
            for j in range(sites):
                if j != i:
                    store(d_place, first + j, load(d_place, first + j) + load(change, first + j))
                    if mixing > 0.0:
                        for k in range(WIDTH):
                            d_color[i, tokens[j, k]] += change[first + j, k]
            if softmax:
                store(d_place, first + i, load(d_place, first + i) - load(itself, i) * mean)
    scale = 1.0 / (count * sites)
    for i in range(sites):
        row = mixing * d_color[i]
        for j in range(sites):
            for k in range(WIDTH):
                row[j] += (1.0 - mixing) * d_place[i * sites + j, k]
        d_scores[i] = (1.0 - mixing) * scale * row
        d_scores[-1] += mixing * scale * row
    d_values *= scale
    return total * scale
