"""Loss and gradient of single attention layers in single precision, for sixteen sequences side by side.

The models are those of `factored_kernels` and `mixed_kernels`, and the functions take the same arguments. An array (L L, WIDTH)
holds the attention of sixteen sequences, an array (L C, WIDTH) a row of C colours for each of their sites. Sums over sequences
are kept in double precision, or lane by lane.
"""

import numpy as np

from attention_limits.numerics.compiled import REORDERED, njit
from attention_limits.numerics.fast_math import log
from attention_limits.numerics.simd import float32_lanes
from attention_limits.numerics.simd.float32_lanes import GROUP, WIDTH, full, load, store
from attention_limits.numerics.simd.products import product
from attention_limits.potts_mlm.attention.factored_kernels import residual

# Rows behind the last one that `float32_lanes.take` may write and `float32_lanes.add` may read.
SPARE = GROUP - 1
# Sums of up to 127 exponentials whose product has one logarithm: the product of so many is below the largest double.
FACTORS = 128


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
def _padded(table, length):
    """The rows of `table` in single precision, filled up with zeros to a `length`, one after the other."""
    rows, columns = table.shape
    out = np.zeros((rows, length), dtype=np.float32)
    out[:, :columns] = table
    return out.reshape(-1)


@njit
def _gather(values, starts, colors, gathered):
    """gathered[j C + a, k] = V[s_kj, a]; values is the flat V, its row s_kj begins at starts[j, k]. Writes SPARE rows more."""
    for j in range(len(starts)):
        for a in range(0, colors, GROUP):
            float32_lanes.take(values, starts, j, a, gathered, j * colors + a, 1)


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
            highest = float32_lanes.maximum(highest, load(logits, first + a))
        total = full(np.float32(0.0))
        for a in range(colors):
            value = load(logits, first + a) - highest
            store(logits, first + a, value)
        for k in range(WIDTH):
            own[i, k] = logits[first + tokens[i, k], k]
        for a in range(colors):
            value = float32_lanes.exp(load(logits, first + a))
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
    # Lane by lane in double precision, so that these loops are vectorised.
    multiplied, chosen = np.ones(WIDTH), np.zeros(WIDTH)
    loss = 0.0
    for first in range(0, sites, FACTORS):
        for i in range(first, min(first + FACTORS, sites)):
            for k in range(WIDTH):
                multiplied[k] *= np.float64(totals[i, k])
                chosen[k] += np.float64(own[i, k])
        for k in range(used):
            loss += log(multiplied[k])
            multiplied[k] = 1.0
    for k in range(used):
        loss -= chosen[k]
    return loss


@njit
def _scatter(received, starts, colors, d_values):
    """Add received[j C + a, k] to the flat gradient in V, as `_gather` reads V."""
    for j in range(len(starts)):
        for a in range(0, colors, GROUP):
            float32_lanes.add(received, j * colors + a, 1, d_values, starts, j, a)


@njit
def factored(attention, values, sequences, d_attention, d_values):
    """`factored_kernels.loss_and_gradient` in single precision, with the same attention, values and sequences.

    Returns the mean loss; writes the gradient into d_attention and d_values.
    """
    count, sites = sequences.shape
    colors = values.shape[1]
    length = -(-colors // GROUP) * GROUP
    single, sums = _padded(values, length), np.zeros(colors * length)
    looks = float32_lanes.empty(sites * sites)
    for i in range(sites):
        for j in range(sites):
            looks[i * sites + j] = attention[i, j]
    tokens = np.empty((sites, WIDTH), dtype=np.int64)
    gathered, logits, received = float32_lanes.zeros(3 * (sites * colors + SPARE)).reshape(3, -1, WIDTH)
    change = float32_lanes.zeros(sites * sites)
    totals, own = float32_lanes.empty(2 * sites).reshape(2, sites, WIDTH)
    total = 0.0
    for start in range(0, count, WIDTH):
        used = _tokens(sequences, start, tokens)
        starts = tokens * length
        _gather(single, starts, colors, gathered)
        product(looks, sites, 1, gathered, colors, 1, sites, logits, 0, sites, colors, False)
        total += _residuals(logits, tokens, colors, used, totals, own)
        product(logits, colors, 1, gathered, 1, colors, colors, change, 0, sites, sites, True)
        product(looks, 1, sites, logits, colors, 1, sites, received, 0, sites, colors, False)
        _scatter(received, starts, colors, sums)
    scale = 1.0 / (count * sites)
    for i in range(sites):
        for j in range(sites):
            d_attention[i, j] = 0.0
            if i != j:
                for k in range(WIDTH):
                    d_attention[i, j] += scale * change[i * sites + j, k]
    d_values[:] = scale * sums.reshape(colors, length)[:, :colors]
    return total * scale


@njit
def _mixed_looks(of_place, of_color, queried, softmax, looks, itself):
    """Write the attention of a block of sequences, zero diagonal, into looks (L L, WIDTH), its diagonal into itself (L, WIDTH).

    of_place (L, L) and of_color, flat, are the two parts of a score; the row of of_color of site j begins at queried[j, k].
    """
    sites = len(of_place)
    for j in range(sites):
        for i in range(0, sites, GROUP):
            float32_lanes.take(of_color, queried, j, i, looks, i * sites + j, sites)
    for i in range(sites):
        for j in range(sites):
            store(looks, i * sites + j, full(of_place[i, j]) + load(looks, i * sites + j))
        looks[i * sites + i] = of_place[i, i]
        if softmax:
            float32_lanes.softmax(looks, i * sites, sites, np.float32(1.0))
            itself[i] = looks[i * sites + i]
        looks[i * sites + i] = np.float32(0.0)


@njit
def _mixed_slopes(looks, itself, softmax, change, d_place):
    """Replace `change`, the gradient in the attention, by the gradient in the scores, and add it to d_place; all (L L, WIDTH)."""
    sites = len(itself)
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
        if softmax:
            store(d_place, first + i, load(d_place, first + i) - load(itself, i) * mean)


@njit
def mixed(scores, values, sequences, mixing, softmax, d_scores, d_values):
    """`mixed_kernels.loss_and_gradient` in single precision, with the same scores, values, sequences, mixing and softmax.

    Returns the mean loss; writes the gradient into d_scores and d_values.
    """
    count, sites = sequences.shape
    colors, directions = values.shape[1], scores.shape[1]
    length, places = -(-colors // GROUP) * GROUP, -(-sites // GROUP) * GROUP
    single, sums = _padded(values, length), np.zeros(colors * length)
    # The parts of a score that depend on the place and on the colour: (1 - a) q_i[j] and a q_i[s_j].
    queries = mixing * scores[-1] + (1.0 - mixing) * scores[:sites]
    of_place, of_color = ((1.0 - mixing) * queries).astype(np.float32), _padded((mixing * queries).T, places)
    d_color = np.zeros(directions * places)
    tokens = np.empty((sites, WIDTH), dtype=np.int64)
    gathered, logits, received = float32_lanes.zeros(3 * (sites * colors + SPARE)).reshape(3, -1, WIDTH)
    looks, change = float32_lanes.zeros(2 * (sites + SPARE) * sites).reshape(2, -1, WIDTH)
    d_place = float32_lanes.zeros(sites * sites)
    totals, own = float32_lanes.empty(2 * sites).reshape(2, sites, WIDTH)
    itself = float32_lanes.zeros(sites)
    d_scores[:] = 0.0
    total = 0.0
    for start in range(0, count, WIDTH):
        used = _tokens(sequences, start, tokens)
        starts, queried = tokens * length, tokens * places
        _gather(single, starts, colors, gathered)
        _mixed_looks(of_place, of_color, queried, softmax, looks, itself)
        product(looks, sites, 1, gathered, colors, 1, sites, logits, 0, sites, colors, False)
        total += _residuals(logits, tokens, colors, used, totals, own)
        product(logits, colors, 1, gathered, 1, colors, colors, change, 0, sites, sites, False)
        product(looks, 1, sites, logits, colors, 1, sites, received, 0, sites, colors, False)
        _scatter(received, starts, colors, sums)
        _mixed_slopes(looks, itself, softmax, change, d_place)
        if mixing > 0.0:
            for j in range(sites):
                for i in range(0, sites, GROUP):
                    float32_lanes.add(change, i * sites + j, sites, d_color, queried, j, i)
    scale = 1.0 / (count * sites)
    for i in range(sites):
        row = mixing * d_color[i::places]
        for j in range(sites):
            for k in range(WIDTH):
                row[j] += (1.0 - mixing) * d_place[i * sites + j, k]
        d_scores[i] = (1.0 - mixing) * scale * row
        d_scores[-1] += mixing * scale * row
    d_values[:] = scale * sums.reshape(colors, length)[:, :colors]
    return total * scale


@njit(nogil=True, fastmath=REORDERED)
def pairwise(site, couplings, fields, sequences, weights, d_couplings, d_fields):
    """`pair_kernels.loss_and_gradient` in single precision, with the same site, couplings, fields, sequences and weights.

    Returns the loss; writes the gradient into d_couplings and d_fields.
    """
    count, sites = sequences.shape
    colors, width = len(fields), couplings.shape[2] // WIDTH
    rows, d_rows = couplings.reshape(-1, WIDTH), d_couplings.reshape(-1, WIDTH)
    logits = float32_lanes.zeros(width)
    flat = logits.reshape(-1)
    d_couplings[:] = np.float32(0.0)
    d_fields[:] = np.float32(0.0)
    total = 0.0
    for m in range(count):
        flat[:colors] = fields
        # Two sums share the places of the rows.
        for c in range(0, width, 2):
            first, second = load(logits, c), load(logits, c + 1)
            for j in range(sites):
                row = (j * colors + sequences[m, j]) * width + c
                first, second = first + load(rows, row), second + load(rows, row + 1)
            store(logits, c, first)
            store(logits, c + 1, second)
        total += weights[m] * residual(flat[:colors], sequences[m, site])
        for a in range(colors):
            flat[a] *= weights[m]
            d_fields[a] += flat[a]
        for c in range(0, width, 2):
            first, second = load(logits, c), load(logits, c + 1)
            for j in range(sites):
                row = (j * colors + sequences[m, j]) * width + c
                store(d_rows, row, load(d_rows, row) + first)
                store(d_rows, row + 1, load(d_rows, row + 1) + second)
    d_couplings[site] = np.float32(0.0)
    return total
