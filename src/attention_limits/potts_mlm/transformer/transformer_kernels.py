"""Forward and backward pass of a post-layer-norm encoder with one head, for sixteen sequences side by side.

An activation of L tokens and d features is an array (L d, WIDTH) in single precision: row i d + c holds feature c of token i of
sixteen sequences. The parameters are one flat array, laid out by `transformer.Shape`; their gradient is an array (parameters,
WIDTH), one column per lane, which the caller adds up. In the last layer only the masked site has a query. The formulas of the
gradient are those of the chain rule for x <- LN(x + attention(x)), x <- LN(x + feedforward(x)) (Rende et al. 2024,
arXiv:2304.07235).
"""

import math

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd import float32_lanes
from attention_limits.numerics.simd.float32_lanes import GROUP, WIDTH, full, load, store
from attention_limits.potts_mlm.transformer import encoder_kernels as blocks

# Sums may be reordered; weights that diverge are NaN and stay so.
FAST = {"nsz", "reassoc", "contract"}
# Places in the list of activations that a layer keeps for the backward pass.
INPUT, ASKING, QUERY, KEY, VALUE, LOOKS, SEEN, HAT_1, ROOT_1, MIDDLE, HIDDEN, HAT_2, ROOT_2, OUTPUT = range(14)
SLOTS = 14


@njit
def layer_size(width, hidden):
    """Number of parameters of a layer of the given `width` with `hidden` units in its feed-forward block."""
    return 4 * (width + 1) * width + (width + 1) * hidden + (hidden + 1) * width + 4 * width


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
def forward(theta, sizes, waves, starts, masked, kept, logits):
    """Logits (C, WIDTH) of the masked sites of sixteen sequences.

    Parameters
    ----------
    theta : float32 (parameters,)
    sizes : (L, C, width, hidden, layers)
    waves : float32 (L, width)
        Positions.
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
        if depth > 0:
            blocks.copy(kept[depth - 1, OUTPUT], own[INPUT], sites * width)
        if last:
            for k in range(WIDTH):
                for c in range(width):
                    own[ASKING, c, k] = own[INPUT, masked[k] * width + c, k]
        else:
            blocks.copy(own[INPUT], own[ASKING], sites * width)
        key = blocks.dense(theta, at, width, width, own[ASKING], own[QUERY], asked)
        value = key + (width + 1) * width
        at = value + (width + 1) * width
        if last:
            # q_i . k_j = x_j . W_K q_i + q_i . b_K, and the last term does not change the softmax. sum_j a_ij v_j is W_V^T y +
            # b_V with y = sum_j a_ij x_j. KEY holds W_K q_i, and VALUE holds y.
            blocks.turn(theta, key, width, own[QUERY], own[KEY])
            asking = blocks.Attention(own[KEY], own[INPUT], own[INPUT], own[LOOKS])
            blocks.attend(asking, own[VALUE], sites, width, 1)
            blocks.dense(theta, value, width, width, own[VALUE], own[SEEN], 1)
        else:
            blocks.dense(theta, key, width, width, own[INPUT], own[KEY], sites)
            blocks.dense(theta, value, width, width, own[INPUT], own[VALUE], sites)
            asking = blocks.Attention(own[QUERY], own[KEY], own[VALUE], own[LOOKS])
            blocks.attend(asking, own[SEEN], sites, width, sites)
        at = blocks.dense(theta, at, width, width, own[SEEN], own[MIDDLE], asked)
        blocks.add(own[MIDDLE], own[ASKING], asked * width)
        up, down, norms = at, at + (width + 1) * hidden, at + (width + 1) * hidden + (hidden + 1) * width
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
def _attention_back(theta, query, width, own, slopes, d_theta, sites):
    """Backward pass of x + attention(x) of all sites, from slopes[SEEN] and slopes[ASKING] to slopes[OUTPUT].

    The parameters of the attention begin at the entry `query`; `own` and `slopes` as in `_backward`.
    """
    square = (width + 1) * width
    key, value = query + square, query + 2 * square
    asking = blocks.Attention(own[QUERY], own[KEY], own[VALUE], own[LOOKS])
    d_asking = blocks.Attention(slopes[QUERY], slopes[KEY], slopes[VALUE], slopes[LOOKS])
    blocks.attend_back(asking, slopes[SEEN], d_asking, sites, width, sites)
    blocks.dense_back(theta, query, width, width, own[ASKING], slopes[QUERY], slopes[ASKING], d_theta, sites)
    blocks.copy(slopes[ASKING], slopes[OUTPUT], sites * width)
    blocks.dense_back(theta, key, width, width, own[INPUT], slopes[KEY], slopes[OUTPUT], d_theta, sites)
    blocks.dense_back(theta, value, width, width, own[INPUT], slopes[VALUE], slopes[OUTPUT], d_theta, sites)


@njit(inline="always")
def _last_attention_back(theta, query, width, own, slopes, d_theta, sites, masked):
    """As `_attention_back`, for the last layer, where only the masked site has a query."""
    square = (width + 1) * width
    key, value = query + square, query + 2 * square
    asking = blocks.Attention(own[KEY], own[INPUT], own[INPUT], own[LOOKS])
    d_asking = blocks.Attention(slopes[KEY], slopes[INPUT], slopes[OUTPUT], slopes[LOOKS])
    blocks.clear(slopes[VALUE], width)
    blocks.dense_back(theta, value, width, width, own[VALUE], slopes[SEEN], slopes[VALUE], d_theta, 1)
    blocks.attend_back(asking, slopes[VALUE], d_asking, sites, width, 1)
    blocks.add(slopes[OUTPUT], slopes[INPUT], sites * width)
    blocks.turn_back(theta, key, width, own[QUERY], slopes[KEY], slopes[QUERY], d_theta)
    blocks.dense_back(theta, query, width, width, own[ASKING], slopes[QUERY], slopes[ASKING], d_theta, 1)
    for k in range(WIDTH):
        for c in range(width):
            slopes[OUTPUT, masked[k] * width + c, k] += slopes[ASKING, c, k]


@njit(inline="always")
def _backward(theta, sizes, starts, masked, kept, d_logits, d_embedding, d_theta, slopes):
    """Add the gradient of sum_a d_logits[a] logits[a] to d_theta (parameters, WIDTH), its part in the embedding to d_embedding.

    Arguments as in `forward`; slopes (SLOTS, ...) is scratch, laid out as kept[l].
    """
    sites, colors, width, hidden, layers = sizes
    size, square = layer_size(width, hidden), (width + 1) * width
    end = (colors + 1) * width + layers * size
    # slopes[OUTPUT] holds the gradient in the output of this layer.
    blocks.clear(slopes[OUTPUT], width)
    blocks.dense_back(theta, end, width, colors, kept[layers - 1, OUTPUT], d_logits, slopes[OUTPUT], d_theta, 1)
    for depth in range(layers - 1, -1, -1):
        own = kept[depth]
        last = depth == layers - 1
        asked = 1 if last else sites
        query = (colors + 1) * width + depth * size
        _feedforward_back(theta, query + 4 * square, width, hidden, own, slopes, d_theta, asked)
        blocks.clear(slopes[SEEN], asked * width)
        blocks.dense_back(
            theta, query + 3 * square, width, width, own[SEEN], slopes[ASKING], slopes[SEEN], d_theta, asked
        )
        # OUTPUT becomes the gradient in the input of the layer, through keys, values and the tokens with a query.
        if last:
            _last_attention_back(theta, query, width, own, slopes, d_theta, sites, masked)
        else:
            _attention_back(theta, query, width, own, slopes, d_theta, sites)
    _embed_back(slopes[OUTPUT], starts, width, d_embedding)


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


@njit(fastmath=FAST)
def _added_up(columns, first, slope):
    """slope[p] = sum_k columns[p, k] from p = `first` on."""
    for p in range(first, len(slope)):
        total = np.float32(0.0)
        for k in range(WIDTH):
            total += columns[p, k]
        slope[p] = total


@njit(nogil=True)
def mean_loss(theta, sizes, waves, sequences, rows, masked, out, odds, looks, slope):
    """The mean of -log p of the colours at the masked sites (n,) of sequences rows[n], in nats; the losses go into out (n,).

    Three arrays are written unless they are empty: odds (n, C) holds p of all colours; the attention of masked[n], layer by
    layer, is added to looks (layers, L, L) in the row of the masked site; slope (parameters,) becomes the gradient of the mean.
    sequences (M, L), rows and masked (n,) are integers; theta, sizes and waves as in `forward`. (One function serves all cases:
    each further one would compile the encoder again.)
    """
    sites, colors, width, hidden, layers = sizes
    learns = len(slope) > 0
    size = sites * max(sites, width, hidden)
    kept = float32_lanes.empty(layers * SLOTS * size).reshape(layers, SLOTS, size, WIDTH)
    scratch = size if learns else 0
    slopes = float32_lanes.empty(SLOTS * scratch).reshape(SLOTS, scratch, WIDTH)
    columns, embedding = float32_lanes.empty(len(slope)), np.zeros((colors + 1) * width)
    blocks.clear(columns, len(slope))
    logits, losses = float32_lanes.empty(colors), np.empty(WIDTH)
    starts, own, own_colors = np.empty((sites, WIDTH), np.int64), np.empty(WIDTH, np.int64), np.empty(WIDTH, np.int64)
    total, share = 0.0, np.float32(1.0 / len(rows))
    for start in range(0, len(rows), WIDTH):
        used = _gather(sequences, rows, start, masked, colors, width, starts, own, own_colors)
        forward(theta, sizes, waves, starts, own, kept, logits)
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
            _backward(theta, sizes, starts, own, kept, logits, embedding, columns, slopes)
    if learns:
        for p in range(len(embedding)):
            slope[p] = embedding[p]
        _added_up(columns, len(embedding), slope)
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
