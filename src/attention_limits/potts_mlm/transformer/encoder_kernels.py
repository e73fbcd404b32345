"""Blocks of an encoder, forward and backward, for sixteen sequences side by side; see `transformer_kernels` for the arrays.

The formulas are those of the encoder of Rende et al. 2024 (arXiv:2304.07235), and the gradients those of the chain rule. The
gradient in x is the gradient of the loss with respect to x. A backward function takes the gradient in the output of its forward
function. Every function takes some of these arguments:

theta : float32 (parameters,), all folded parameters (see `folded_kernels`); those of the block begin at the entry `at`.
x, out : activations of `count` tokens, rows of WIDTH lanes; `inputs` and `outputs` are their features, `width` where they agree.
d_x, d_out, d_theta : gradients in them; d_theta, like theta (parameters,), has the sum over the lanes.
hat, root : normalised activations, and inverse standard deviations, of a layer norm.
seen, d_seen : sums of the values, weighted with the attention, and the gradient in them.
rows, scale : number of rows, and a factor.
"""

import math
from typing import NamedTuple

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd import float32_lanes
from attention_limits.numerics.simd.float32_lanes import full, load, store
from attention_limits.numerics.simd.products import product

# Added to the variance of a layer norm.
EPSILON = np.float32(1e-5)
# A factor of products that add up columns.
_ONE = np.ones(1, dtype=np.float32)


class Attention(NamedTuple):
    """Activations of `attend`, or the gradients in them.

    query belongs to the `asked` tokens, key and value to all sites; looks is the attention (asked * sites rows). Key and value
    may be the same array.
    """

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    looks: np.ndarray


@njit
def dense(theta, at, inputs, outputs, x, out, count):
    """out = x W + b for `count` tokens; theta holds W (inputs, outputs) from `at` on, then b. Returns the entry after b."""
    bias = at + inputs * outputs
    for i in range(count):
        for c in range(outputs):
            store(out, i * outputs + c, full(theta[bias + c]))
    product(x, inputs, 1, theta[at:], outputs, 1, inputs, out, 0, count, outputs, True)
    return bias + outputs


@njit
def add_columns(x, columns, count, d_theta, at):
    """Add sum_i x[i, c] over `count` tokens and all lanes to entry `at` + c of d_theta, for each of the `columns` c."""
    product(_ONE, 0, 0, x, columns, 1, count, d_theta, at, 1, columns, True)


@njit
def dense_back(theta, at, inputs, outputs, x, d_out, d_x, d_theta, count):
    """Add the gradient in x of `dense` to d_x, and those in W and b to d_theta."""
    product(d_out, outputs, 1, theta[at:], 1, outputs, outputs, d_x, 0, count, inputs, True)
    product(x, 1, inputs, d_out, outputs, 1, count, d_theta, at, inputs, outputs, True)
    add_columns(d_out, outputs, count, d_theta, at + inputs * outputs)


@njit
def norm(theta, at, width, x, hat, root, out, count):
    """out = scale hat + shift, hat = (x - mean) / sqrt(variance + EPSILON); root keeps the inverse of that square root."""
    share = full(np.float32(1.0 / width))
    one = full(np.float32(1.0))
    for i in range(count):
        mean, variance = full(np.float32(0.0)), full(EPSILON)
        for c in range(width):
            mean = mean + share * load(x, i * width + c)
        for c in range(width):
            centred = load(x, i * width + c) - mean
            variance = variance + share * centred * centred
        inverse = one / float32_lanes.sqrt(variance)
        store(root, i, inverse)
        for c in range(width):
            value = (load(x, i * width + c) - mean) * inverse
            store(hat, i * width + c, value)
            store(out, i * width + c, full(theta[at + c]) * value + full(theta[at + width + c]))


@njit
def norm_back(theta, at, width, hat, root, d_out, d_x, d_theta, count):
    """Write the gradient in x of `norm` into d_x; add those in scale and shift to d_theta."""
    share = full(np.float32(1.0 / width))
    for row in range(count * width):
        store(d_x, row, load(hat, row) * load(d_out, row))
    add_columns(d_x, width, count, d_theta, at)
    add_columns(d_out, width, count, d_theta, at + width)
    for i in range(count):
        mean, product = full(np.float32(0.0)), full(np.float32(0.0))
        for c in range(width):
            slope = share * full(theta[at + c]) * load(d_out, i * width + c)
            mean = mean + slope
            product = product + slope * load(hat, i * width + c)
        inverse = load(root, i)
        for c in range(width):
            slope = full(theta[at + c]) * load(d_out, i * width + c)
            store(d_x, i * width + c, inverse * (slope - mean - load(hat, i * width + c) * product))


@njit
def attend(own, seen, sites, width, asked):
    """looks[i, j] = softmax_j(q_i . k_j / sqrt(width)) and seen[i] = sum_j looks[i, j] v_j of `asked` tokens i among `sites`.

    `own`, an `Attention`, holds query, key and value of `width` features; the function writes its looks.
    """
    query, key, value, looks = own
    scale = np.float32(1.0 / math.sqrt(width))
    product(query, width, 1, key, 1, width, width, looks, 0, asked, sites, False)
    for i in range(asked):
        float32_lanes.softmax(looks, i * sites, sites, scale)
    product(looks, sites, 1, value, width, 1, sites, seen, 0, asked, width, False)


@njit
def attend_back(own, d_seen, slopes, sites, width, asked):
    """Write the gradient of `attend` in the query of `own` into that of `slopes`, and add those in key and value.

    `own` and `slopes` are an `Attention`; the looks of `slopes` are scratch; `asked` tokens among `sites`, `width` features.
    """
    query, key, value, looks = own
    d_query, d_key, d_value, d_looks = slopes
    scale = full(np.float32(1.0 / math.sqrt(width)))
    product(d_seen, width, 1, value, 1, width, width, d_looks, 0, asked, sites, False)
    for i in range(asked):
        mean = full(np.float32(0.0))
        for j in range(sites):
            mean = mean + load(looks, i * sites + j) * load(d_looks, i * sites + j)
        for j in range(sites):
            slope = load(looks, i * sites + j) * (load(d_looks, i * sites + j) - mean)
            store(d_looks, i * sites + j, scale * slope)
    product(d_looks, sites, 1, key, width, 1, sites, d_query, 0, asked, width, False)
    product(looks, 1, sites, d_seen, width, 1, asked, d_value, 0, sites, width, True)
    product(d_looks, 1, sites, query, width, 1, asked, d_key, 0, sites, width, True)


@njit
def add(out, x, rows):
    """Add the first `rows` rows of x to those of out."""
    for row in range(rows):
        store(out, row, load(out, row) + load(x, row))


@njit
def copy(x, out, rows):
    """Copy the first `rows` rows of x to out."""
    for row in range(rows):
        store(out, row, load(x, row))


@njit
def clear(out, rows):
    """Set the first `rows` rows of out to zero."""
    for row in range(rows):
        store(out, row, full(np.float32(0.0)))
