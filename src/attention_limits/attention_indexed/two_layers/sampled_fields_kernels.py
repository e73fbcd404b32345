"""Scores of several softmax layers that read M tokens: those of the last layer from those of the others, given an output.

Derived for this project. The raw scores R_l of layer l have variance 2 on the diagonal and 1 off it. Layer l reads the tokens
B_l X, and y determines the scores of layer L up to a constant in all entries:

    h^l = B_l R_l B_l^T,    B_{l+1} = (c I + softmax_rows(beta h^l)) B_l,    B_1 = I,    h^L = a + constant.

All rows of B_l sum to (c + 1)^(l-1), so a constant in h^l is one in R_l, which no output depends on. In an orthonormal basis E_k
of the D = M (M + 1) / 2 - 1 symmetric matrices whose entries sum to zero, R_l = sqrt(2) sum_k r_lk E_k + constant, and the
contrasts r_l have the prior N(m_l, V_l I). Let x be the deviations of the contrasts of layers 1, ..., L - 1 in prior standard
deviations. Given x, the contrasts of layer L are those of B_L^-1 a B_L^-T, and the posterior density of x is

    exp(-|x|^2 / 2 - |y(x)|^2 / 2) / |det B_L|^(M + 1),    y = (r_L(x) - m_L) / sqrt(V_L).

The functions take WIDTH deviations x at once, as lanes. For c >= 1 the diagonal of each factor c I + softmax outweighs the rest
of its row, so elimination needs no pivots, and the determinant is positive.
"""

import math
from typing import NamedTuple

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd.copying_kernels import copy_matrix
from attention_limits.numerics.simd.float64_lanes import (
    WIDTH,
    at_most,
    bits,
    exp,
    full,
    less,
    load,
    maximum,
    store,
    where,
)

ROOT_2 = math.sqrt(2.0)
# Below this det B the density is taken as zero.
SINGULAR = 1e-12


class Network(NamedTuple):
    """The basis E_k (D, M, M), the number of layers L, the skip strength c >= 1 and beta."""

    basis: np.ndarray
    layers: int
    skip: float
    beta: float


class Given(NamedTuple):
    """One output a (M, M), and the prior of the contrasts: means m_l (L, D) and the roots of V_l (L,)."""

    output: np.ndarray
    means: np.ndarray
    roots: np.ndarray


class Space(NamedTuple):
    """Work space of `last_layer`, rows (M M, WIDTH): `mix` B_l and its `inverse`, a `factor` B_(l+1) B_l^-1 with the inverse
    `back`, `raw` scores, and an `other` matrix."""

    mix: np.ndarray
    inverse: np.ndarray
    factor: np.ndarray
    back: np.ndarray
    raw: np.ndarray
    other: np.ndarray


@njit
def empty_space(tokens):
    """A work space for M = `tokens`."""
    shape = (tokens * tokens, WIDTH)
    return Space(np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape))


@njit(error_model="numpy")
def _multiply(left, right, tokens, result):
    """Write the product of `left` and `right` into `result`, all rows (M M, WIDTH); M = `tokens`."""
    for i in range(tokens):
        for j in range(tokens):
            total = load(left, i * tokens) * load(right, j)
            for k in range(1, tokens):
                total = total + load(left, i * tokens + k) * load(right, k * tokens + j)
            store(result, i * tokens + j, total)


@njit(error_model="numpy")
def _multiply_transposed(left, right, tokens, result):
    """As `_multiply`, with the transpose of `right`, for a product that is symmetric."""
    for i in range(tokens):
        for j in range(i + 1):
            total = load(left, i * tokens) * load(right, j * tokens)
            for k in range(1, tokens):
                total = total + load(left, i * tokens + k) * load(right, j * tokens + k)
            store(result, i * tokens + j, total)
            store(result, j * tokens + i, total)


@njit(error_model="numpy")
def _raw_scores(x, layer, given, basis, raw):
    """Write the raw scores of a `layer` at the deviations x (F, WIDTH) into rows `raw` (M M, WIDTH)."""
    size, tokens = basis.shape[0], basis.shape[1]
    for i in range(tokens):
        for j in range(i + 1):
            mean = 0.0
            for k in range(size):
                mean += given.means[layer, k] * basis[k, i, j]
            total = full(ROOT_2 * mean)
            for k in range(size):
                total = total + (ROOT_2 * given.roots[layer] * basis[k, i, j]) * load(x, layer * size + k)
            store(raw, i * tokens + j, total)
            store(raw, j * tokens + i, total)


@njit(error_model="numpy")
def _attend(scores, network, tokens):
    """Replace rows `scores` (M M, WIDTH) by c I + softmax_rows(beta scores)."""
    for first in range(0, tokens * tokens, tokens):
        largest = load(scores, first)
        for j in range(1, tokens):
            largest = maximum(largest, load(scores, first + j))
        total = full(0.0)
        for j in range(tokens):
            weight = exp(network.beta * (load(scores, first + j) - largest))
            store(scores, first + j, weight)
            total = total + weight
        inverse = 1.0 / total
        for j in range(tokens):
            store(scores, first + j, load(scores, first + j) * inverse)
        diagonal = first + first // tokens
        store(scores, diagonal, load(scores, diagonal) + network.skip)


@njit(error_model="numpy")
def _invert(matrix, tokens, inverse):
    """Write the inverse of rows `matrix` (M M, WIDTH), M = `tokens`, by elimination without pivots; returns the determinant."""
    copy_matrix(matrix, inverse)
    det = full(1.0)
    for k in range(tokens):
        pivot = load(inverse, k * tokens + k)
        det = det * pivot
        scale = 1.0 / pivot
        store(inverse, k * tokens + k, full(1.0))
        for j in range(tokens):
            store(inverse, k * tokens + j, load(inverse, k * tokens + j) * scale)
        for i in range(tokens):
            if i != k:
                factor = load(inverse, i * tokens + k)
                store(inverse, i * tokens + k, full(0.0))
                for j in range(tokens):
                    place = i * tokens + j
                    store(inverse, place, load(inverse, place) - factor * load(inverse, k * tokens + j))
    return det


@njit(error_model="numpy")
def last_layer(x, given, network, space, y):
    """Write y (D, WIDTH) of the deviations x ((L - 1) D, WIDTH) of the other layers of a `network`, with the work space `space`.

    Returns det B_L, lanes; it is zero, and y too, where it is below SINGULAR. `given` is the output and the prior.
    """
    basis, raw, other = network.basis, space.raw, space.other
    mix, inverse, factor, back = space.mix, space.inverse, space.factor, space.back
    size, tokens, last = basis.shape[0], basis.shape[1], network.layers - 1
    det = full(1.0)
    for layer in range(last):
        if layer == 0:
            _raw_scores(x, layer, given, basis, factor)
        else:
            _raw_scores(x, layer, given, basis, raw)
            _multiply(mix, raw, tokens, other)
            _multiply_transposed(other, mix, tokens, factor)
        _attend(factor, network, tokens)
        det = det * _invert(factor, tokens, back)
        if layer == 0:
            copy_matrix(factor, mix)
            copy_matrix(back, inverse)
        else:
            _multiply(factor, mix, tokens, other)
            copy_matrix(other, mix)
            _multiply(inverse, back, tokens, other)
            copy_matrix(other, inverse)
    for i in range(tokens):
        for j in range(tokens):
            total = full(0.0)
            for k in range(tokens):
                total = total + given.output[k, j] * load(inverse, i * tokens + k)
            store(other, i * tokens + j, total)
    _multiply_transposed(other, inverse, tokens, raw)
    scale = 1.0 / given.roots[last]
    for k in range(size):
        total = full(-given.means[last, k] * scale)
        for i in range(tokens):
            for j in range(tokens):
                total = total + (scale / ROOT_2 * basis[k, i, j]) * load(raw, i * tokens + j)
        store(y, k, total)
    # Not below: a pivot of zero leaves no number.
    det = where(at_most(SINGULAR, det), det, 0.0)
    singular = less(det, SINGULAR)
    if bits(singular) != 0:
        for k in range(size):
            store(y, k, where(singular, 0.0, load(y, k)))
    return det


@njit(error_model="numpy")
def half_squares(x):
    """|x|^2 / 2 of rows x (n, WIDTH), lanes."""
    total = full(0.0)
    for k in range(x.shape[0]):
        total = total + load(x, k) * load(x, k)
    return 0.5 * total


@njit(error_model="numpy")
def energy(x, given, network, space, y):
    """-log of the posterior density of x, lanes, up to a constant; infinite where B_L is singular.

    Writes y (D, WIDTH). The arguments `given`, `network` and `space` are those of `last_layer`.
    """
    det = last_layer(x, given, network, space, y)
    value = (network.basis.shape[1] + 1.0) * math.log(maximum(det, SINGULAR)) + half_squares(x) + half_squares(y)
    return where(less(det, SINGULAR), math.inf, value)
