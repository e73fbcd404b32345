"""Scores of several softmax layers that read M tokens: those of the last layer from those of the others, given an output.

Derived for this project. The raw scores R_l of layer l have variance 2 on the diagonal and 1 off it. Layer l reads the tokens
B_l X, and y determines the scores of layer L up to a constant in all entries:

    h^l = B_l R_l B_l^T,    B_{l+1} = (c I + softmax_rows(beta h^l)) B_l,    B_1 = I,    h^L = a + constant.

All rows of B_l sum to (c + 1)^(l-1), so a constant in h^l is one in R_l, which no output depends on. In an orthonormal basis E_k
of the D = M (M + 1) / 2 - 1 symmetric matrices whose entries sum to zero, R_l = sqrt(2) sum_k r_lk E_k + constant, and the
contrasts r_l have the prior N(m_l, V_l I). Let x be the deviations of the contrasts of layers 1, ..., L - 1 in prior standard
deviations. Given x, the contrasts of layer L are those of B_L^-1 a B_L^-T, and the posterior density of x is

    exp(-|x|^2 / 2 - |y(x)|^2 / 2) / |det B_L|^(M + 1),    y = (r_L(x) - m_L) / sqrt(V_L).
"""

import math
from typing import NamedTuple

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd.copying_kernels import copy_matrix

ROOT_2 = math.sqrt(2.0)
# Below this |det B| the density is taken as zero.
SINGULAR = 1e-12


class Network(NamedTuple):
    """The basis E_k (D, M, M), the number of layers L, the skip strength c and beta."""

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
    """Work space of `last_layer`, M x M: `mix` B_l, `raw` and final `scores` of a layer, an `other` one, the `inverse` of B_L."""

    mix: np.ndarray
    raw: np.ndarray
    scores: np.ndarray
    other: np.ndarray
    inverse: np.ndarray


@njit
def empty_space(tokens):
    """A work space for M = `tokens`."""
    shape = (tokens, tokens)
    return Space(np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape))


@njit(error_model="numpy")
def _sandwich(left, middle, other, result):
    """Write `left` `middle` `left`^T into `result`, by `other`; all (M, M)."""
    tokens = left.shape[0]
    for i in range(tokens):
        for j in range(tokens):
            total = 0.0
            for k in range(tokens):
                total += left[i, k] * middle[k, j]
            other[i, j] = total
    for i in range(tokens):
        for j in range(tokens):
            total = 0.0
            for k in range(tokens):
                total += other[i, k] * left[j, k]
            result[i, j] = total


@njit(error_model="numpy")
def _mix(network, space):
    """Replace B in `space.mix` by (c I + softmax_rows(beta scores)) B."""
    scores, other, mix = space.scores, space.other, space.mix
    tokens = mix.shape[0]
    for i in range(tokens):
        largest = scores[i, 0]
        for j in range(1, tokens):
            largest = max(largest, scores[i, j])
        total = 0.0
        for j in range(tokens):
            scores[i, j] = math.exp(network.beta * (scores[i, j] - largest))
            total += scores[i, j]
        for j in range(tokens):
            scores[i, j] /= total
        scores[i, i] += network.skip
    for i in range(tokens):
        for j in range(tokens):
            total = 0.0
            for k in range(tokens):
                total += scores[i, k] * mix[k, j]
            other[i, j] = total
    copy_matrix(other, mix)


@njit(error_model="numpy")
def _invert(matrix, inverse):
    """Write the inverse of `matrix` (M, M), which is overwritten, by elimination with pivots; returns the determinant."""
    tokens = matrix.shape[0]
    inverse[:] = 0.0
    for i in range(tokens):
        inverse[i, i] = 1.0
    det = 1.0
    for k in range(tokens):
        pivot = k
        for i in range(k + 1, tokens):
            if abs(matrix[i, k]) > abs(matrix[pivot, k]):
                pivot = i
        if pivot != k:
            det = -det
            for j in range(tokens):
                matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
                inverse[k, j], inverse[pivot, j] = inverse[pivot, j], inverse[k, j]
        det *= matrix[k, k]
        if matrix[k, k] == 0.0:
            return 0.0
        scale = 1.0 / matrix[k, k]
        for j in range(tokens):
            matrix[k, j] *= scale
            inverse[k, j] *= scale
        for i in range(tokens):
            if i != k:
                factor = matrix[i, k]
                for j in range(tokens):
                    matrix[i, j] -= factor * matrix[k, j]
                    inverse[i, j] -= factor * inverse[k, j]
    return det


@njit(error_model="numpy")
def last_layer(x, given, network, space, y):
    """Write y (D,) of the deviations x ((L - 1) D,) of the other layers of a `network`, with the work space `space`.

    Returns log |det B_L|, or -inf where B_L is singular; `given` is the output and the prior.
    """
    basis, mix, raw = network.basis, space.mix, space.raw
    size, tokens = basis.shape[0], basis.shape[1]
    for i in range(tokens):
        for j in range(tokens):
            mix[i, j] = 1.0 if i == j else 0.0
    for layer in range(network.layers - 1):
        raw[:] = 0.0
        for k in range(size):
            r = ROOT_2 * (given.means[layer, k] + given.roots[layer] * x[layer * size + k])
            for i in range(tokens):
                for j in range(tokens):
                    raw[i, j] += r * basis[k, i, j]
        _sandwich(mix, raw, space.other, space.scores)
        _mix(network, space)
    det = _invert(mix, space.inverse)
    if not abs(det) > SINGULAR:
        return -np.inf
    _sandwich(space.inverse, given.output, space.other, space.scores)
    for k in range(size):
        total = 0.0
        for i in range(tokens):
            for j in range(tokens):
                total += basis[k, i, j] * space.scores[i, j]
        y[k] = (total / ROOT_2 - given.means[network.layers - 1, k]) / given.roots[network.layers - 1]
    return math.log(abs(det))


@njit(error_model="numpy")
def energy(x, given, network, space, y):
    """-log of the posterior density of x, up to a constant; infinite where B_L is singular.

    Writes y (D,). The arguments `given`, `network` and `space` are those of `last_layer`.
    """
    log_det = last_layer(x, given, network, space, y)
    if log_det == -np.inf:
        return np.inf
    total = (network.basis.shape[1] + 1) * log_det
    for k in range(x.size):
        total += 0.5 * x[k] * x[k]
    for k in range(y.size):
        total += 0.5 * y[k] * y[k]
    return total
