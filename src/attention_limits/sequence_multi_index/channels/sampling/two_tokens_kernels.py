"""Posterior moments of any number of attention layers reading two tokens, by importance sampling on quasi-random nodes.

The first L - 1 layers are drawn with the help of shared standard normal nodes (`importance.Proposals`); the output then
leaves the last layer the two values +-v, v = A_1^-1 ... A_{L-1}^-1 u, with weight N(+-v | first layers) / |det A_1 ... A_{L-1}|
(`links.attention.deep`; the model is that of Troiani et al. 2025, arXiv:2502.00901, the method derived in this module). In the
sum and the difference over tokens, A = softmax_rows(beta w w^T) + c I is triangular:

    (A x)_d = kappa x_d,   (A x)_s = (1 + c) x_s - tau x_d,   kappa = c + 1 - S_12 - S_21,   tau = S_12 - S_21.

A node is computed in the precision of the nodes, single or double; the sums over passes are in double precision.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import prange

from attention_limits.numerics.compiled import FAST, njit
from attention_limits.numerics.fast_math import LOWEST, exp_of
from attention_limits.sequence_multi_index.channels.sampling.two_tokens_layers_kernels import (
    HALF,
    PASS,
    ZERO,
    compare,
    draw,
    last_layer,
    read_layers,
    share,
)

# Samples per parallel block, which share one work space.
BLOCK = 16

# Sums over the nodes of one output: of the weights, of their squares, and the second moments of the last layer over tokens.
NORM, SQUARES, YY_11, YY_12, YY_22 = range(5)
SUMS = 5
# Rows of the work space after the fields and the layers: sum and difference over tokens of the fields that a layer reads, then
# candidate and mean of the last layer, log-weights (then weights) of the two signs, factor, log-weight of the first layers.
W_S, W_D, V_1, V_2, MU_1, MU_2, PLUS, MINUS, FACTOR, LOG_WEIGHT = range(10)
WORK_ROWS = 10


class Mixture(NamedTuple):
    """K proposals of one output in 2 F variables, as in `importance.Proposals`.

    centre (K, 2 F), spread and its inverse (K, 2 F, 2 F), log_volume (K,).
    """

    centre: np.ndarray
    spread: np.ndarray
    inverse: np.ndarray
    log_volume: np.ndarray


class Model(NamedTuple):
    """Prior: whitening (L - 1, L - 1) and regression (L - 1,) as in `importance.FieldPrior`; skip c and beta of the link.

    `precision` is the inverse variance of the last layer given the others.
    """

    whitening: np.ndarray
    regression: np.ndarray
    precision: float
    skip: float
    beta: float


@njit(fastmath=FAST, error_model="numpy")
def _sum_pair(left, right, fields, second):
    """Add the sums over nodes of left and right, each times both rows of `fields` (2, PASS), to `second` (2, 2)."""
    one, two = fields[0], fields[1]
    a = b = c = d = ZERO
    for i in range(PASS):
        a += left[i] * one[i]
        b += left[i] * two[i]
        c += right[i] * one[i]
        d += right[i] * two[i]
    second[0, 0] += a
    second[0, 1] += b
    second[1, 0] += c
    second[1, 1] += d


@njit(fastmath=FAST, error_model="numpy")
def _weigh(v_1, v_2, mu_1, mu_2, log_weight, precision, plus, minus):
    """Write log_weight plus the Gaussian log-weights of +v and -v, v ~ N(mu, 1 / precision); return the largest of them."""
    half = HALF * precision
    for i in range(PASS):
        # Differences first: with few digits, a narrow Gaussian must not be the difference of large squares.
        a = v_1[i] - mu_1[i]
        b = v_2[i] - mu_2[i]
        plus[i] = max(log_weight[i] - half * (a * a + b * b), LOWEST)
        a = v_1[i] + mu_1[i]
        b = v_2[i] + mu_2[i]
        minus[i] = max(log_weight[i] - half * (a * a + b * b), LOWEST)
    best = LOWEST
    for i in range(PASS):
        best = max(best, max(plus[i], minus[i]))
    return best


@njit(fastmath=FAST, error_model="numpy")
def _last_moments(v_1, v_2, plus, minus, factor, shift, centre, y_1, y_2, sums, first):
    """Turn log-weights into weights and sum the moments of the last layer alone.

    plus becomes both = w_+ + w_-, w = factor exp(log-weight - shift). The first moments per node of y = +-v - centre are
    written into y_1, y_2; the sums over nodes are added to sums (SUMS,) and first (2,).
    """
    c_1 = centre[0]
    c_2 = centre[1]
    total = squares = first_1 = first_2 = yy_11 = yy_12 = yy_22 = ZERO
    for i in range(PASS):
        a = factor[i] * exp_of(plus[i] - shift)
        b = factor[i] * exp_of(minus[i] - shift)
        both = a + b
        plus[i] = both
        total += both
        squares += both * both
        above_1 = v_1[i] - c_1
        above_2 = v_2[i] - c_2
        below_1 = v_1[i] + c_1
        below_2 = v_2[i] + c_2
        a_1 = a * above_1
        b_1 = b * below_1
        a_2 = a * above_2
        b_2 = b * below_2
        y_1[i] = a_1 - b_1
        y_2[i] = a_2 - b_2
        first_1 += a_1 - b_1
        first_2 += a_2 - b_2
        yy_11 += a_1 * above_1 + b_1 * below_1
        yy_12 += a_1 * above_2 + b_1 * below_2
        yy_22 += a_2 * above_2 + b_2 * below_2
    sums[NORM] += total
    sums[SQUARES] += squares
    sums[YY_11] += yy_11
    sums[YY_12] += yy_12
    sums[YY_22] += yy_22
    first[0] += first_1
    first[1] += first_2


@njit(fastmath=FAST, error_model="numpy")
def _weighted(fields, weights, out, mean):
    """Write both rows of `fields` (2, PASS) times the weights into `out`; add their sums over nodes to mean (2,)."""
    for a in range(2):
        field, row = fields[a], out[a]
        total = ZERO
        for i in range(PASS):
            value = weights[i] * field[i]
            row[i] = value
            total += value
        mean[a] += total


@njit(error_model="numpy")
def _sum_pass(fields, bound, plus, last, mean, second):
    """Add the moments that contain the first layers; `last` (2, PASS) holds the weighted deviations of the last layer.

    `last` becomes scratch; plus holds the weights of the nodes. Blocks of `second` on and below the diagonal are written.
    """
    for k in range(0, bound, 2):
        _sum_pair(last[0], last[1], fields[k : k + 2], second[bound : bound + 2, k : k + 2])
    for j in range(0, bound, 2):
        _weighted(fields[j : j + 2], plus, last, mean[j : j + 2])
        for k in range(0, j + 2, 2):
            _sum_pair(last[0], last[1], fields[k : k + 2], second[j : j + 2, k : k + 2])


@njit(error_model="numpy")
def _moments(u, omega, mixture, model, nodes, half_squares, work, mean, second):
    """Moments of one output; returns log Z and the effective sample size (sum w)^2 / sum w^2.

    u (2,); omega (L, 2); mixture of K = 1 or 2 proposals; nodes (S / PASS, 2 F, PASS) and their half_squares (S / PASS, PASS);
    work (4 F + WORK_ROWS, PASS); written are mean (2 L,) = E[h - omega] and second (2 L, 2 L) = E[(h - omega)(h - omega)^T].
    """
    free = model.whitening.shape[0]
    bound = 2 * free
    fields = work[:bound]
    deviation = fields.reshape((free, 2, PASS))
    kappa, tau = work[bound : bound + free], work[bound + free : 2 * bound]
    # Row by row: unpacking an array in one go gives rows of unknown stride, which the compiler does not vectorise.
    rows = work[2 * bound :]
    last = rows[W_S : W_D + 1]
    w_s, w_d, v_1, v_2, mu_1, mu_2 = rows[W_S], rows[W_D], rows[V_1], rows[V_2], rows[MU_1], rows[MU_2]
    plus, minus, factor, log_weight = rows[PLUS], rows[MINUS], rows[FACTOR], rows[LOG_WEIGHT]
    sums = np.zeros(SUMS)
    top = LOWEST
    mean[:] = 0.0
    second[:] = 0.0
    passes, several = nodes.shape[0], mixture.centre.shape[0]
    for one in range(passes * several):
        place, which = one % passes, one // passes
        draw(nodes[place], mixture.centre[which], mixture.spread[which], fields)
        compare(half_squares[place], mixture.log_volume[which], deviation, model.whitening, w_s, log_weight)
        read_layers(omega, deviation, kappa, tau, model, w_s, w_d, mu_1, mu_2)
        last_layer(u[0] + u[1], u[0] - u[1], kappa, tau, model.skip, v_1, v_2, factor)
        if several == 2:
            other = 1 - which
            log_ratio = mixture.log_volume[which] - mixture.log_volume[other]
            share(
                half_squares[place], fields, mixture.centre[other], mixture.inverse[other], log_ratio, w_s, w_d, factor
            )
        best = _weigh(v_1, v_2, mu_1, mu_2, log_weight, model.precision, plus, minus)
        if best > top:
            scale = math.exp(max(top - best, -700.0))
            sums *= scale
            sums[SQUARES] *= scale
            mean *= scale
            second *= scale
            top = best
        _last_moments(v_1, v_2, plus, minus, factor, top, omega[free], w_s, w_d, sums, mean[bound:])
        _sum_pass(fields, bound, plus, last, mean, second)
    second[bound, bound], second[bound + 1, bound], second[bound + 1, bound + 1] = sums[YY_11], sums[YY_12], sums[YY_22]
    mean /= sums[NORM]
    for j in range(bound + 2):
        for k in range(j + 1):
            second[j, k] /= sums[NORM]
            second[k, j] = second[j, k]
    density = np.float64(model.precision) / (2.0 * math.pi)
    count = passes * several * PASS
    log_z = math.log(sums[NORM] / count) + top + math.log(density) - free * math.log(1.0 + np.float64(model.skip))
    return log_z, sums[NORM] * sums[NORM] / sums[SQUARES]


@njit(parallel=True, error_model="numpy")
def deep_moments(u, omega, mixtures, model, nodes, found):
    """Moments of p(h | u) for n outputs, which share all nodes.

    All numbers that are read have the precision of the nodes, single or double.

    Parameters
    ----------
    u : array (n, 2)
        Score roots of the last layer.
    omega : array (n, L, 2)
        Prior means (sample, layer, token) of the fields.
    mixtures : Mixture
        Of all outputs, n along the first axis of each array; K is 1 or 2.
    model : Model
    nodes : array (S, L - 1, 2)
        Standard normal variables; S is a multiple of PASS.
    found : importance_kernels.Found, written
        log_z is the log-density of u, summed over both signs, without the determinant of the whitening.
    """
    n = u.shape[0]
    count, free = nodes.shape[0], nodes.shape[1]
    centre, spread, inverse, log_volume = mixtures
    log_z, mean, second, effective = found
    passes = np.ascontiguousarray(nodes.reshape((count // PASS, PASS, 2 * free)).transpose((0, 2, 1)))
    half_squares = HALF * np.sum(passes * passes, axis=1)
    for block in prange((n + BLOCK - 1) // BLOCK):
        work = np.empty((4 * free + WORK_ROWS, PASS), dtype=nodes.dtype)
        for i in range(BLOCK * block, min(n, BLOCK * block + BLOCK)):
            mixture = Mixture(centre[i], spread[i], inverse[i], log_volume[i])
            log_z[i], effective[i] = _moments(
                u[i], omega[i], mixture, model, passes, half_squares, work, mean[i], second[i]
            )
