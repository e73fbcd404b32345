"""Forward and backward pass of a post-layer-norm encoder with one head, for sixteen sequences side by side.

An activation of L tokens and d features is an array (L d, WIDTH) in single precision: row i d + c holds feature c of token i of
sixteen sequences. The parameters are one flat array, laid out by `transformer.Shape`; `folded_kernels` folds them once per batch,
and unfolds the gradient in the folded ones, summed over the lanes. In the last layer only the masked site has a query. The
formulas of the gradient are those of the chain rule for x <- LN(x + attention(x)), x <- LN(x + feedforward(x)) (Rende et al.
2024, arXiv:2304.07235).
"""

import math
from typing import NamedTuple

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd import float32_lanes
from attention_limits.numerics.simd.float32_lanes import GROUP, WIDTH, full, load, store
from attention_limits.potts_mlm.transformer import encoder_kernels as blocks
from attention_limits.potts_mlm.transformer import folded_kernels as folding

# Sums may be reordered; weights that diverge are NaN and stay so.
FAST = {"nsz", "reassoc", "contract"}
# Places in the list of activations that a layer keeps for the backward pass; VALUE of the first of several layers.
INPUT, ASKING, QUERY, VALUE, LOOKS, SEEN, HAT_1, ROOT_1, MIDDLE, HIDDEN, HAT_2, ROOT_2, OUTPUT = range(13)
SLOTS = 13


class Sums(NamedTuple):
    """Gradients in the folded parameters, summed over the groups of a batch.

    parameters : float32 (parameters,), all but those that the other sums hold.
    embedding : ((C + 1) width,), in double precision.
    colors : (2, (C + 1) width), in double precision: in the tables of query and value by colour.
    places : float32 (2, L width): in those by position; empty for a single layer.
    """

    parameters: np.ndarray
    embedding: np.ndarray
    colors: np.ndarray
    places: np.ndarray


@njit
def space_rows(sizes, learns):
    """Rows of the work space of `mean_loss`: of the activations, and, if it `learns`, of their gradients.

    `sizes` as in `forward`.
    """
    sites, _, width, hidden, layers = sizes
    return (layers + (1 if learns else 0)) * SLOTS * sites * max(sites, width, hidden)


@njit
def _embed(theta, starts, waves, out):
    """out = rows of the embedding, which begin at the entries starts (L, WIDTH) of theta, plus the positions waves (L, width)."""
    sites, width = waves.shape
    whole = width - width % GROUP
    for i in range(sites):
        for c in range(0, whole, GROUP):
            float32_lanes.take(theta, starts, i, c, out, i * width + c, 1)
        for k in range(WIDTH):
            for c in range(whole, width):
                out[i * width + c, k] = theta[starts[i, k] + c]
        for c in range(width):
            store(out, i * width + c, load(out, i * width + c) + full(waves[i, c]))


@njit
def _embed_back(d_out, starts, width, d_embedding):
    """Add d_out, the gradient in the output of `_embed`, to d_embedding, that in the embedding: flat, in double precision."""
    whole = width - width % GROUP
    for i in range(len(starts)):
        for c in range(0, whole, GROUP):
            float32_lanes.add(d_out, i * width + c, 1, d_embedding, starts, i, c)
        for k in range(WIDTH):
            for c in range(whole, width):
                d_embedding[starts[i, k] + c] += d_out[i * width + c, k]


@njit(inline="always")
def forward(theta, sizes, waves, tables, starts, masked, kept, logits):
    """Logits (C, WIDTH) of the masked sites of sixteen sequences.

    Parameters
    ----------
    theta : float32 (parameters,)
        Folded, see `folded_kernels`.
    sizes : (L, C, width, hidden, layers)
    waves : float32 (L, width)
        Positions.
    tables : folded_kernels.Tables
        Of the first layer.
    starts : (L, WIDTH)
        First entry of theta of the row of the embedding of each token, that of the mask at the masked site.
    masked : (WIDTH,)
    kept : float32 (layers, SLOTS, L max(L, width, hidden), WIDTH), written
        Activations; kept[l, LOOKS] is the attention of layer l, (L, L) of all sites or (L,) of the masked one in the last layer.
    logits : float32 (C, WIDTH), written
    """
    sites, colors, width, hidden, layers = sizes
    _embed(theta, starts, waves, kept[0, INPUT])
    at = (colors + 1) * width
    for depth in range(layers):
        own = kept[depth]
        last = depth == layers - 1
        asked = 1 if last else sites
        tokens = kept[depth - 1, OUTPUT] if depth > 0 else own[INPUT]
        asking = own[ASKING] if last else tokens
        if last:
            for k in range(WIDTH):
                for c in range(width):
                    asking[c, k] = tokens[masked[k] * width + c, k]
        turned = at + (width + 1) * width
        if depth == 0 and not last:
            _embed(tables.query.reshape(-1), starts, tables.query_place, own[QUERY])
            _embed(tables.value.reshape(-1), starts, tables.value_place, own[VALUE])
            looking = blocks.Attention(own[QUERY], tokens, own[VALUE], own[LOOKS])
            blocks.attend(looking, own[MIDDLE], sites, width, sites)
        else:
            blocks.dense(theta, at, width, width, asking, own[QUERY], asked)
            blocks.attend(blocks.Attention(own[QUERY], tokens, tokens, own[LOOKS]), own[SEEN], sites, width, asked)
            blocks.dense(theta, turned, width, width, own[SEEN], own[MIDDLE], asked)
        up = turned + (width + 1) * width
        down = up + (width + 1) * hidden
        norms = down + (hidden + 1) * width
        blocks.add(own[MIDDLE], asking, asked * width)
        blocks.norm(theta, norms, width, own[MIDDLE], own[HAT_1], own[ROOT_1], own[MIDDLE], asked)
        blocks.dense(theta, up, width, hidden, own[MIDDLE], own[HIDDEN], asked)
        for row in range(asked * hidden):
            store(own[HIDDEN], row, float32_lanes.maximum(load(own[HIDDEN], row), full(np.float32(0.0))))
        blocks.dense(theta, down, hidden, width, own[HIDDEN], own[OUTPUT], asked)
        blocks.add(own[OUTPUT], own[MIDDLE], asked * width)
        blocks.norm(theta, norms + 2 * width, width, own[OUTPUT], own[HAT_2], own[ROOT_2], own[OUTPUT], asked)
        at = norms + 4 * width
    blocks.dense(theta, at, width, colors, kept[layers - 1, OUTPUT], logits, 1)


@njit(inline="always")
def _feedforward_back(theta, up, width, hidden, own, slopes, d_theta, asked):
    """Backward pass of x <- LN(x + feedforward(x)) and of the norm before it, from slopes[OUTPUT] to slopes[ASKING].

    The parameters of the feed-forward block begin at the entry `up`; `own` and `slopes` as in `_backward`.
    """
    down = up + (width + 1) * hidden
    norms = down + (hidden + 1) * width
    # MIDDLE holds the gradient after the first norm; HIDDEN and then ASKING hold it inside of the blocks.
    blocks.norm_back(
        theta, norms + 2 * width, width, own[HAT_2], own[ROOT_2], slopes[OUTPUT], slopes[MIDDLE], d_theta, asked
    )
    blocks.clear(slopes[HIDDEN], asked * hidden)
    blocks.dense_back(theta, down, hidden, width, own[HIDDEN], slopes[MIDDLE], slopes[HIDDEN], d_theta, asked)
    for row in range(asked * hidden):
        closed = float32_lanes.nonnegative(full(np.float32(0.0)) - load(own[HIDDEN], row))
        slope = load(slopes[HIDDEN], row)
        store(slopes[HIDDEN], row, slope - closed * slope)
    blocks.dense_back(theta, up, width, hidden, own[MIDDLE], slopes[HIDDEN], slopes[MIDDLE], d_theta, asked)
    blocks.norm_back(theta, norms, width, own[HAT_1], own[ROOT_1], slopes[MIDDLE], slopes[ASKING], d_theta, asked)


@njit(inline="always")
def _attention_back(theta, query, width, tokens, asking, own, slopes, d_theta, asked, sites):
    """Backward pass of attention(x): adds to slopes[OUTPUT], the gradient in the `tokens`, from slopes[ASKING].

    The gradient in the `asking` tokens goes to the same rows, or to slopes[ASKING] where only the masked site asks. The folded
    parameters of the attention begin at the entry `query`; `own` and `slopes` as in `_backward`.
    """
    turned = query + (width + 1) * width
    blocks.clear(slopes[SEEN], asked * width)
    blocks.dense_back(theta, turned, width, width, own[SEEN], slopes[ASKING], slopes[SEEN], d_theta, asked)
    looking = blocks.Attention(own[QUERY], tokens, tokens, own[LOOKS])
    d_looking = blocks.Attention(slopes[QUERY], slopes[OUTPUT], slopes[OUTPUT], slopes[LOOKS])
    blocks.attend_back(looking, slopes[SEEN], d_looking, sites, width, asked)
    d_asking = slopes[OUTPUT] if asked == sites else slopes[ASKING]
    blocks.dense_back(theta, query, width, width, asking, slopes[QUERY], d_asking, d_theta, asked)


@njit(inline="always")
def _first_attention_back(width, own, slopes, d_tables, d_places, starts, sites):
    """As `_attention_back` in the first of several layers: adds the gradients in its tables to d_tables and d_places."""
    blocks.clear(slopes[VALUE], sites * width)
    looking = blocks.Attention(own[QUERY], own[INPUT], own[VALUE], own[LOOKS])
    d_looking = blocks.Attention(slopes[QUERY], slopes[OUTPUT], slopes[VALUE], slopes[LOOKS])
    blocks.attend_back(looking, slopes[ASKING], d_looking, sites, width, sites)
    for part, slot in ((0, QUERY), (1, VALUE)):
        _embed_back(slopes[slot], starts, width, d_tables[part])
        blocks.add_columns(slopes[slot], sites * width, 1, d_places[part], 0)


@njit(inline="always")
def _backward(theta, sizes, starts, masked, kept, d_logits, sums, slopes):
    """Add the gradient of sum_a d_logits[a] logits[a] to `sums`.

    Arguments as in `forward`; slopes (SLOTS, ...) is scratch, laid out as kept[l].
    """
    sites, colors, width, hidden, layers = sizes
    size = folding.attention_size(width) + folding.rest_size(width, hidden)
    end = (colors + 1) * width + layers * size
    d_theta = sums.parameters
    # slopes[OUTPUT] holds the gradient in the output of this layer.
    blocks.clear(slopes[OUTPUT], width)
    blocks.dense_back(theta, end, width, colors, kept[layers - 1, OUTPUT], d_logits, slopes[OUTPUT], d_theta, 1)
    for depth in range(layers - 1, -1, -1):
        own = kept[depth]
        last = depth == layers - 1
        asked = 1 if last else sites
        tokens = kept[depth - 1, OUTPUT] if depth > 0 else own[INPUT]
        query = (colors + 1) * width + depth * size
        up = query + folding.attention_size(width)
        _feedforward_back(theta, up, width, hidden, own, slopes, d_theta, asked)
        # OUTPUT becomes the gradient in the input of the layer.
        if last:
            blocks.clear(slopes[OUTPUT], sites * width)
            _attention_back(theta, query, width, tokens, own[ASKING], own, slopes, d_theta, 1, sites)
            for k in range(WIDTH):
                for c in range(width):
                    slopes[OUTPUT, masked[k] * width + c, k] += slopes[ASKING, c, k]
        else:
            blocks.copy(slopes[ASKING], slopes[OUTPUT], sites * width)
            if depth > 0:
                _attention_back(theta, query, width, tokens, tokens, own, slopes, d_theta, sites, sites)
            else:
                _first_attention_back(width, own, slopes, sums.colors, sums.places, starts, sites)
    _embed_back(slopes[OUTPUT], starts, width, sums.embedding)


@njit
def _gather(sequences, rows, first, masked, colors, width, starts, own_masked, own_colors):
    """Starts, masked sites and their colours of the sequences rows[first], ..., as lanes; idle lanes repeat the first.

    Returns the number of lanes in use.
    """
    used = min(WIDTH, len(rows) - first)
    for k in range(WIDTH):
        row = first + (k if k < used else 0)
        own_masked[k] = masked[row]
        for i in range(sequences.shape[1]):
            starts[i, k] = sequences[rows[row], i] * width
        own_colors[k] = sequences[rows[row], masked[row]]
        starts[masked[row], k] = colors * width
    return used


@njit
def _softmax(logits, own_colors, losses):
    """Replace logits (C, WIDTH) by their softmax; write -log of its value at the colours `own_colors` into losses (WIDTH,)."""
    for k in range(WIDTH):
        losses[k] = -logits[own_colors[k], k]
    for k in range(WIDTH):
        highest = logits[0, k]
        for a in range(1, len(logits)):
            highest = max(highest, logits[a, k])
        losses[k] += highest
    float32_lanes.softmax(logits, 0, len(logits), np.float32(1.0))
    # The largest value is the inverse of the sum of the exponentials, and at least 1 / C.
    for k in range(WIDTH):
        largest = logits[0, k]
        for a in range(1, len(logits)):
            largest = max(largest, logits[a, k])
        losses[k] -= math.log(largest)


@njit
def _finish(theta, sizes, waves, folded, sums, slope):
    """Write the gradient in `theta` into `slope`, from the `sums` over a batch with the `folded` parameters."""
    d_folded, width = sums.parameters, waves.shape[1]
    for p in range(len(sums.embedding)):
        d_folded[p] = sums.embedding[p]
    by_color = sums.colors.astype(np.float32).reshape(2, len(sums.embedding) // width, width)
    by_place = sums.places.reshape(2, sums.places.shape[1] // width, width)
    d_tables = folding.Tables(by_color[0], by_color[1], by_place[0], by_place[1])
    folding.tables_back(folded, sizes, waves, d_tables, d_folded)
    folding.unfold(theta, sizes, d_folded, slope)


@njit(nogil=True)
def mean_loss(theta, sizes, waves, sequences, rows, masked, out, odds, looks, slope, space):
    """The mean of -log p of the colours at the masked sites (n,) of sequences rows[n], in nats; the losses go into out (n,).

    Three arrays are written unless they are empty: odds (n, C) holds p of all colours; the attention of masked[n], layer by
    layer, is added to looks (layers, L, L) in the row of the masked site; slope (parameters,) becomes the gradient of the mean.
    sequences (M, L), rows and masked (n,) are integers; theta (parameters,) is not folded, sizes and waves as in `forward`; space
    (`space_rows`, WIDTH) is scratch: a new one for every step would cost more time than a single layer. (One function serves all
    cases: each further one would compile the encoder again.)
    """
    sites, colors, width, hidden, layers = sizes
    learns = len(slope) > 0
    size = sites * max(sites, width, hidden)
    folded = folding.fold(theta, sizes)
    tables = folding.first_tables(folded, sizes, waves)
    end = layers * SLOTS * size
    kept = space[:end].reshape(layers, SLOTS, size, WIDTH)
    scratch = size if learns else 0
    slopes = space[end : end + SLOTS * scratch].reshape(SLOTS, scratch, WIDTH)
    entries = (colors + 1) * width
    sums = Sums(
        np.zeros(len(folded), dtype=np.float32), np.zeros(entries), np.zeros((2, entries)),
        np.zeros((2, tables.query_place.size), dtype=np.float32),
    )  # fmt: skip
    logits, losses = float32_lanes.empty(colors), np.empty(WIDTH)
    starts, own, own_colors = np.empty((sites, WIDTH), np.int64), np.empty(WIDTH, np.int64), np.empty(WIDTH, np.int64)
    total, share = 0.0, np.float32(1.0 / len(rows))
    for start in range(0, len(rows), WIDTH):
        used = _gather(sequences, rows, start, masked, colors, width, starts, own, own_colors)
        forward(folded, sizes, waves, tables, starts, own, kept, logits)
        _softmax(logits, own_colors, losses)
        for k in range(used):
            out[start + k] = losses[k]
            total += losses[k]
        if len(odds) > 0:
            for k in range(used):
                for a in range(colors):
                    odds[start + k, a] = logits[a, k]
        for depth in range(len(looks)):
            for k in range(used):
                at = 0 if depth == layers - 1 else own[k] * sites
                for j in range(sites):
                    looks[depth, own[k], j] += kept[depth, LOOKS, at + j, k]
        if learns:
            for k in range(WIDTH):
                logits[own_colors[k], k] -= np.float32(1.0)
                for a in range(colors):
                    logits[a, k] *= share if k < used else np.float32(0.0)
            _backward(folded, sizes, starts, own, kept, logits, sums, slopes)
    if learns:
        _finish(theta, sizes, waves, folded, sums, slope)
    return total / len(rows)


@njit(nogil=True, fastmath=FAST, error_model="numpy")
def move(theta, moments, slope, rate, adam, number):
    """Step `number` = 1, 2, ... at a learning rate, in place: of Adam if `adam`, else of plain gradient descent.

    theta and slope are float32 (parameters,). moments, float32 (2, parameters), are the means of the gradient and of its square,
    which Adam keeps (Kingma and Ba 2015; 0.9, 0.999, 1e-8).
    """
    step = np.float32(rate)
    if adam:
        first, second = np.float32(1.0 / (1.0 - 0.9**number)), np.float32(1.0 / (1.0 - 0.999**number))
        mean, square, small = moments[0], moments[1], np.float32(1e-8)
        for p in range(len(theta)):
            mean[p] = np.float32(0.9) * mean[p] + np.float32(0.1) * slope[p]
            square[p] = np.float32(0.999) * square[p] + np.float32(0.001) * slope[p] * slope[p]
            theta[p] -= step * (first * mean[p]) / (math.sqrt(second * square[p]) + small)
    else:
        for p in range(len(theta)):
            theta[p] -= step * slope[p]
