"""Posterior moments of any number of attention layers reading two tokens, by importance sampling on quasi-random nodes.

The first L - 1 layers are drawn with the help of shared standard normal nodes (`fibre_sampling.Proposals`); the output then
leaves the last layer the two values +-v, v = A_1^-1 ... A_{L-1}^-1 u, with weight N(+-v | first layers) / |det A_1 ... A_{L-1}|
(`links.deep_attention`; the model is that of Troiani et al. 2025, arXiv:2502.00901, the method derived here). In the sum and the
difference over tokens, A = softmax_rows(beta w w^T) + c I is triangular:

    (A x)_d = kappa x_d,   (A x)_s = (1 + c) x_s - tau x_d,   kappa = c + 1 - S_12 - S_21,   tau = S_12 - S_21.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import prange

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.fast_math import exp
from attention_limits.sequence_multi_index.fibre_layers_kernels import (
    PASS,
    compare,
    draw,
    last_layer,
    read_layers,
    share,
)

# Samples per parallel block, which share one work space.
BLOCK = 16
# Log-weight of nothing.
LOWEST = -1e300

# Sums over the nodes of one output: of the weights, of their squares, and the second moments of the last layer over tokens.
NORM, SQUARES, YY_11, YY_12, YY_22 = range(5)
SUMS = 5
# Rows of the work space after the fields and the layers: sum and difference over tokens of the fields that a layer reads, then
# candidate and mean of the last layer, log-weights (then weights) of the two signs, factor, log-weight of the first layers.
W_S, W_D, V_1, V_2, MU_1, MU_2, PLUS, MINUS, FACTOR, LOG_WEIGHT = range(10)
WORK_ROWS = 10


class Mixture(NamedTuple):
    """K proposals of one output in 2 F variables: centre, spread, its inverse, log_volume, as in `fibre_sampling.Proposals`."""

    centre: np.ndarray
    spread: np.ndarray
    inverse: np.ndarray
    log_volume: np.ndarray


class Model(NamedTuple):
    """Prior: whitening, regression as in `fibre_sampling.Prior`, precision of the last layer given the others; skip, beta."""

    whitening: np.ndarray
    regression: np.ndarray
    precision: float
    skip: float
    beta: float


_FAST = {"nnan", "nsz", "arcp", "contract", "reassoc"}


@njit(fastmath=_FAST, error_model="numpy")
def _sum_products(weighted, fields, count, out):
    """Add to out[j] the sum over nodes of weighted * fields[j], j < count; return the sum of weighted."""
    for j in range(count):
        total = 0.0
        for i in range(PASS):
            total += weighted[i] * fields[j, i]
        out[j] += total
    total = 0.0
    for i in range(PASS):
        total += weighted[i]
    return total


@njit(fastmath=_FAST, error_model="numpy")
def _weigh(v_1, v_2, mu_1, mu_2, log_weight, precision, plus, minus):
    """Write log_weight plus the Gaussian log-weights of +v and -v, v ~ N(mu, 1 / precision); return the larger maximum."""
    best = LOWEST
    for i in range(PASS):
        squares = v_1[i] * v_1[i] + v_2[i] * v_2[i] + mu_1[i] * mu_1[i] + mu_2[i] * mu_2[i]
        even = log_weight[i] - 0.5 * precision * squares
        odd = precision * (v_1[i] * mu_1[i] + v_2[i] * mu_2[i])
        plus[i] = max(even + odd, LOWEST)
        minus[i] = max(even - odd, LOWEST)
        best = max(best, even + abs(odd))
    return best


@njit(fastmath=_FAST, error_model="numpy")
def _last_moments(v_1, v_2, plus, minus, factor, shift, centre, y_1, y_2, sums):
    """Turn log-weights into weights and sum the moments of the last layer alone.

    plus becomes both = w_+ + w_-, w = factor exp(log-weight - shift). y = +-v - centre has the first moments y_1, y_2 per node,
    which are written; the sums over nodes are added to sums (SUMS,).
    """
    c_1 = centre[0]
    c_2 = centre[1]
    total = squares = yy_11 = yy_12 = yy_22 = 0.0
    for i in range(PASS):
        a = factor[i] * exp(plus[i] - shift)
        b = factor[i] * exp(minus[i] - shift)
        both = a + b
        difference = a - b
        plus[i] = both
        total += both
        squares += both * both
        y_1[i] = difference * v_1[i] - both * c_1
        y_2[i] = difference * v_2[i] - both * c_2
        t_1 = both * v_1[i] - difference * c_1
        t_2 = both * v_2[i] - difference * c_2
        yy_11 += v_1[i] * t_1 - c_1 * y_1[i]
        yy_12 += v_2[i] * t_1 - c_2 * y_1[i]
        yy_22 += v_2[i] * t_2 - c_2 * y_2[i]
    sums[NORM] += total
    sums[SQUARES] += squares
    sums[YY_11] += yy_11
    sums[YY_12] += yy_12
    sums[YY_22] += yy_22


@njit(error_model="numpy")
def _sum_pass(fields, bound, plus, w_s, w_d, mean, second):
    """Add the moments that the first layers take part in; w_s and w_d hold the weighted deviations of the last layer."""
    mean[bound] += _sum_products(w_s, fields, bound, second[bound])
    mean[bound + 1] += _sum_products(w_d, fields, bound, second[bound + 1])
    for j in range(bound):
        for i in range(PASS):
            w_s[i] = plus[i] * fields[j, i]
        mean[j] += _sum_products(w_s, fields, j + 1, second[j])


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
    w_s, w_d, v_1, v_2, mu_1, mu_2 = rows[W_S], rows[W_D], rows[V_1], rows[V_2], rows[MU_1], rows[MU_2]
    plus, minus, factor, log_weight = rows[PLUS], rows[MINUS], rows[FACTOR], rows[LOG_WEIGHT]
    sums = np.zeros(SUMS)
    top = LOWEST
    mean[:] = 0.0
    second[:] = 0.0
    passes, several = nodes.shape[0], mixture.centre.shape[0]
    for one in range(passes * several):
        here, which = one % passes, one // passes
        draw(nodes[here], mixture.centre[which], mixture.spread[which], fields)
        compare(half_squares[here], mixture.log_volume[which], deviation, model.whitening, w_s, log_weight)
        read_layers(omega, deviation, kappa, tau, model, w_s, w_d, mu_1, mu_2)
        last_layer(u[0] + u[1], u[0] - u[1], kappa, tau, model.skip, v_1, v_2, factor)
        if several == 2:
            other = 1 - which
            log_ratio = mixture.log_volume[which] - mixture.log_volume[other]
            share(
                half_squares[here], fields, mixture.centre[other], mixture.inverse[other], log_ratio, w_s, w_d, factor
            )
        best = _weigh(v_1, v_2, mu_1, mu_2, log_weight, model.precision, plus, minus)
        if best > top:
            scale = math.exp(max(top - best, -700.0))
            sums *= scale
            sums[SQUARES] *= scale
            mean *= scale
            second *= scale
            top = best
        _last_moments(v_1, v_2, plus, minus, factor, top, omega[free], w_s, w_d, sums)
        _sum_pass(fields, bound, plus, w_s, w_d, mean, second)
    second[bound, bound], second[bound + 1, bound], second[bound + 1, bound + 1] = sums[YY_11], sums[YY_12], sums[YY_22]
    mean /= sums[NORM]
    for j in range(bound + 2):
        for k in range(j + 1):
            second[j, k] /= sums[NORM]
            second[k, j] = second[j, k]
    density = model.precision / (2.0 * math.pi)
    count = passes * several * PASS
    log_z = math.log(sums[NORM] / count) + top + math.log(density) - free * math.log(1.0 + model.skip)
    return log_z, sums[NORM] * sums[NORM] / sums[SQUARES]


@njit(parallel=True, error_model="numpy")
def deep_moments(
    u, omega, centre, spread, inverse, log_volume, whitening, regression, precision, nodes, skip, beta,
    log_z, mean, second, effective,
):  # fmt: skip
    """Moments of p(h | u) for n outputs, on nodes that all share.

    Parameters
    ----------
    u : array (n, 2)
        Score roots of the last layer.
    omega : array (n, L, 2)
        Prior means (sample, layer, token) of the fields.
    centre, spread, inverse, log_volume : arrays (n, K, 2 (L - 1)), (n, K, 2 (L - 1), 2 (L - 1)) twice, (n, K)
        As in `fibre_sampling.Proposals`, with the inverse of the spread; K is 1 or 2.
    whitening, regression : arrays (L - 1, L - 1), (L - 1,)
        As in `fibre_sampling.Prior`, the second for the one row left.
    precision : float
        Inverse variance of the last layer given the others.
    nodes : array (S, L - 1, 2)
        Standard normal variables; S is a multiple of PASS.
    skip, beta : float
        c and the inverse temperature.
    log_z : array (n,), written
        log-density of u, summed over both signs, without the determinant of the whitening.
    mean, second : arrays (n, 2 L), (n, 2 L, 2 L), written
        First and second moments of h - omega, over (layer, token).
    effective : array (n,), written
        Effective sample size (sum w)^2 / sum w^2.
    """
    n = u.shape[0]
    count, free = nodes.shape[0], nodes.shape[1]
    passes = np.ascontiguousarray(nodes.reshape((count // PASS, PASS, 2 * free)).transpose((0, 2, 1)))
    half_squares = 0.5 * np.sum(passes**2, axis=1)
    model = Model(whitening, regression, precision, skip, beta)
    for block in prange((n + BLOCK - 1) // BLOCK):
        work = np.empty((4 * free + WORK_ROWS, PASS))
        for i in range(BLOCK * block, min(n, BLOCK * block + BLOCK)):
            mixture = Mixture(centre[i], spread[i], inverse[i], log_volume[i])
            log_z[i], effective[i] = _moments(
                u[i], omega[i], mixture, model, passes, half_squares, work, mean[i], second[i]
            )
