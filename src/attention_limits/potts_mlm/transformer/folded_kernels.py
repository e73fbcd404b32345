"""Parameters of an encoder with folded attention: two matrices of a layer in place of four.

With queries q_i = x_i W_Q + b_Q, keys and values in the same form, and one head as wide as x, the attention of a layer depends on
two products alone:

    q_i . k_j = (x_i M + u) . x_j + a term that no softmax over j sees,   (M; u) = (W_Q; b_Q) W_K^T,
    (sum_j a_ij v_j) W_O + b_O = (sum_j a_ij x_j) N + n,                  (N; n) = (W_V; b_V) W_O + (0; b_O),

where (W; b) is W with the row b below it, and sum_j a_ij = 1. The steps of a training move the four matrices; the batch reads the
two. In the first of several layers x_j = E[s_j] + p_j takes few values, and the products E M, E N, p M + u and p N + n serve the
whole batch. The encoder is that of Rende et al. 2024 (arXiv:2304.07235); the folding and its gradient are derived here.
"""

from typing import NamedTuple

import numpy as np

from attention_limits.numerics.compiled import REORDERED, njit
from attention_limits.numerics.simd.copying_kernels import copy_vector


class Tables(NamedTuple):
    """Products of the first of several layers, or the gradients in them; all empty for a single layer.

    query, value : (C + 1, width), E M and E N; query_place, value_place : (L, width), p M + u and p N + n.
    """

    query: np.ndarray
    value: np.ndarray
    query_place: np.ndarray
    value_place: np.ndarray


@njit(fastmath=REORDERED)
def _add_product(x, y, out):
    """Add the product of x (n, m) and y (m, l) to out (n, l)."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            factor = x[i, j]
            for k in range(y.shape[1]):
                out[i, k] += factor * y[j, k]


@njit
def _transposed(x):
    out = np.empty((x.shape[1], x.shape[0]), dtype=x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j, i] = x[i, j]
    return out


@njit
def attention_size(width):
    """Number of folded parameters of the attention of one layer of a `width`: (M; u) and (N; n)."""
    return 2 * (width + 1) * width


@njit
def rest_size(width, hidden):
    """Number of parameters of a layer of a `width` behind its attention, with `hidden` units in its feed-forward block."""
    return (width + 1) * hidden + (hidden + 1) * width + 4 * width


@njit
def folded_size(sizes):
    """Number of folded parameters; `sizes` as in `transformer_kernels.forward`."""
    _, colors, width, hidden, layers = sizes
    layer = attention_size(width) + rest_size(width, hidden)
    return (colors + 1) * width + layers * layer + (width + 1) * colors


@njit
def _block(array, at, rows, width):
    """`rows` rows of `width` numbers of the flat `array`, from the entry `at` on."""
    return array[at : at + rows * width].reshape(rows, width)


@njit
def _parts(theta, at, width):
    """(W_Q; b_Q), W_K, (W_V; b_V) and W_O of the layer whose parameters begin at the entry `at` of `theta`."""
    square = (width + 1) * width
    return (
        _block(theta, at, width + 1, width), _block(theta, at + square, width, width),
        _block(theta, at + 2 * square, width + 1, width), _block(theta, at + 3 * square, width, width),
    )  # fmt: skip


@njit
def fold(theta, sizes):
    """The folded parameters of `theta`: embedding, per layer (M; u), (N; n) and the rest, then the head.

    `sizes` as in `transformer_kernels.forward`, here and below.
    """
    _, colors, width, hidden, layers = sizes
    square, rest = (width + 1) * width, rest_size(width, hidden)
    at = to = (colors + 1) * width
    folded = np.zeros(folded_size(sizes), dtype=np.float32)
    copy_vector(theta, folded[:to])
    for _ in range(layers):
        query, key, value, out = _parts(theta, at, width)
        # n begins as b_O.
        copy_vector(theta[at + 4 * square - width :], folded[to + 2 * square - width : to + 2 * square])
        _add_product(query, _transposed(key), _block(folded, to, width + 1, width))
        _add_product(value, out, _block(folded, to + square, width + 1, width))
        at, to = at + 4 * square, to + 2 * square
        copy_vector(theta[at:], folded[to : to + rest])
        at, to = at + rest, to + rest
    copy_vector(theta[at:], folded[to:])
    return folded


@njit
def unfold(theta, sizes, d_folded, slope):
    """Write the gradient in `theta` into `slope`, from the gradient `d_folded` in the folded parameters; for these `sizes`."""
    _, colors, width, hidden, layers = sizes
    square, rest = (width + 1) * width, rest_size(width, hidden)
    at = to = (colors + 1) * width
    # The bias of the keys changes no attention.
    slope[:] = np.float32(0.0)
    copy_vector(d_folded, slope[:at])
    for _ in range(layers):
        query, key, value, out = _parts(theta, at, width)
        d_query, d_key, d_value, d_out = _parts(slope, at, width)
        d_scores, d_turned = _block(d_folded, to, width + 1, width), _block(d_folded, to + square, width + 1, width)
        _add_product(d_scores, key, d_query)
        _add_product(_transposed(d_scores), query, d_key)
        _add_product(d_turned, _transposed(out), d_value)
        _add_product(_transposed(value), d_turned, d_out)
        copy_vector(d_turned[width], slope[at + 4 * square - width : at + 4 * square])
        at, to = at + 4 * square, to + 2 * square
        copy_vector(d_folded[to:], slope[at : at + rest])
        at, to = at + rest, to + rest
    copy_vector(d_folded[to:], slope[at:])


@njit
def first_tables(folded, sizes, waves):
    """`Tables` of the first layer, of the `folded` parameters and the positions `waves` (L, width), for these `sizes`."""
    sites, colors, width, _, layers = sizes
    rows, places = (colors + 1, sites) if layers > 1 else (0, 0)
    tables = no_tables(rows, places, width)
    at, square = (colors + 1) * width, (width + 1) * width
    for start, by_color, by_place in (
        (at, tables.query, tables.query_place), (at + square, tables.value, tables.value_place),
    ):  # fmt: skip
        matrix, shift = _block(folded, start, width, width), folded[start + width * width : start + square]
        _add_product(_block(folded, 0, rows, width), matrix, by_color)
        for i in range(places):
            copy_vector(shift, by_place[i])
        _add_product(waves[:places], matrix, by_place)
    return tables


@njit
def no_tables(rows, places, width):
    """`Tables` of zeros, with so many `rows` by colour and `places`, of a `width`."""
    by_color, by_place = np.zeros((2, rows, width), np.float32), np.zeros((2, places, width), np.float32)
    return Tables(by_color[0], by_color[1], by_place[0], by_place[1])


@njit
def tables_back(folded, sizes, waves, d_tables, d_folded):
    """Add the gradients in E, (M; u) and (N; n) to `d_folded`, from `d_tables`, those in the tables of `first_tables`.

    `folded`, `sizes` and `waves` are those of `first_tables`.
    """
    _, colors, width, _, layers = sizes
    if layers > 1:
        at, square = (colors + 1) * width, (width + 1) * width
        embedding, d_embedding = _block(folded, 0, colors + 1, width), _block(d_folded, 0, colors + 1, width)
        for start, d_color, d_place in (
            (at, d_tables.query, d_tables.query_place), (at + square, d_tables.value, d_tables.value_place),
        ):  # fmt: skip
            matrix, d_matrix = _block(folded, start, width, width), _block(d_folded, start, width, width)
            _add_product(d_color, _transposed(matrix), d_embedding)
            _add_product(_transposed(embedding), d_color, d_matrix)
            _add_product(_transposed(waves), d_place, d_matrix)
            for i in range(len(waves)):
                for c in range(width):
                    d_folded[start + width * width + c] += d_place[i, c]
