"""The nodes of a row, at one d, of the trapezoid rule of `moments_kernels`, in single or in double precision.

The model is that of Troiani et al. 2025 (arXiv:2502.00901), the equations are those of `moments_kernels`.
"""

import math
from typing import NamedTuple

import numpy as np

from attention_limits.numerics.compiled import FAST, njit
from attention_limits.numerics.fast_math import LOWEST, exp_of
from attention_limits.sequence_multi_index.channels.trapezoid.lattice_kernels import (
    OMEGA_1D,
    OMEGA_1S,
    OMEGA_2D,
    OMEGA_2S,
)

# Constants in single precision: an operation with a row keeps the precision of the row.
ZERO, QUARTER, HALF, ONE = (np.float32(x) for x in (0, 0.25, 0.5, 1))
# Exponents are cut at this number, where the softmax is 1 to all digits.
LARGEST_EXPONENT = np.float32(40.0)
# Nodes of a row that are computed at once; their numbers 0, 1, ..., and the colours of the checkerboard.
RUN = 512
NUMBERS = np.arange(RUN, dtype=np.float32)
COLORS = ONE - 2 * (NUMBERS % 2)

# The running sums of one output, in the end its moments: of x = z - omega_1 and y = v - omega_2, in the sum (S) and difference
# (D) over tokens. NORM is the sum of the weights, in the end log Z; IMBALANCE that of the checkerboard.
(
    NORM, X_S, X_D, Y_S, Y_D, XX_SS, XX_SD, XX_DD, YY_SS, YY_SD, YY_DD, XY_SS, XY_SD, XY_DS, XY_DD, IMBALANCE,
) = range(16)  # fmt: skip
SUMS = 16


class Row(NamedTuple):
    """The numbers that the nodes of a row share, in the precision of its nodes.

    u_s, u_d, skip: as in `Output`; slope = beta |d| / 2; peak = -beta d^2 / 2; exp_both = exp(-beta d^2), and one_minus_exp the
    rest of 1; sign: of d; start, step: x_s of its first node, and between nodes; omega_s: of layer 1; factor: of the weights;
    square: log-weight of x_d; inverse_v11; tilt = V_12 / V_11; w_s, w_d: omega of layer 2; mean_d: mean of v_d given x_d;
    precision: of v given x.
    """

    u_s: float
    u_d: float
    skip: float
    slope: float
    peak: float
    exp_both: float
    one_minus_exp: float
    sign: float
    start: float
    step: float
    omega_s: float
    factor: float
    square: float
    inverse_v11: float
    tilt: float
    w_s: float
    w_d: float
    mean_d: float
    precision: float


@njit(error_model="numpy")
def row_of(kind, output, s, s_step, d, factor):
    """The row through (s, d) of an `output`, in the precision of the array `kind`.

    Its nodes have the distance `s_step`, and their weights the factor `factor`.
    """
    number = kind.dtype.type
    v11, v12, v22 = output.V
    x_d, w_d = d - output.omega[OMEGA_1D], output.omega[OMEGA_2D]
    exponent = -output.beta * d * d
    return Row(
        number(output.u_s), number(output.u_d), number(output.skip), number(0.5 * output.beta * abs(d)),
        number(0.5 * exponent), number(math.exp(exponent)), number(-math.expm1(exponent)), number(math.copysign(1.0, d)),
        number(s - output.omega[OMEGA_1S]), number(s_step),
        number(output.omega[OMEGA_1S]), number(factor), number(-0.25 * x_d * x_d / v11), number(1.0 / v11),
        number(v12 / v11), number(output.omega[OMEGA_2S]), number(w_d), number(w_d + v12 / v11 * x_d),
        number(v11 / (v11 * v22 - v12 * v12)),
    )  # fmt: skip


@njit(fastmath=FAST, error_model="numpy", inline="always")
def _fields(s, row):
    """(v_s, v_d, 1 / (c + delta)) at one node; delta is free of cancellation.

    Of e_1 = exp(-beta z_1 d) and e_2 = exp(beta z_2 d), e is the larger one, and the other is exp(-beta d^2) / e. With
    P = (1 + e_1)(1 + e_2): delta = one_minus_exp / P and S_12 - S_21 = (e_1 - e_2) / P. One exponential and one division are
    enough.
    """
    e = exp_of(max(-LARGEST_EXPONENT, min(LARGEST_EXPONENT, row.slope * abs(s) + row.peak)))
    product = (ONE + e) * (e + row.exp_both)
    inverse = ONE / (row.skip * product + row.one_minus_exp * e)
    inverse_determinant = product * inverse
    difference = (e * e - row.exp_both) * inverse * row.sign * row.u_d
    v_s = (row.u_s + (difference if s < ZERO else -difference)) / (ONE + row.skip)
    return v_s, row.u_d * inverse_determinant, inverse_determinant


@njit(fastmath=FAST, error_model="numpy", inline="always")
def _log_weights(x_s, v_s, v_d, row):
    """The Gaussian log-weights of (z, v) and (z, -v): that of x = z - omega_1, and that of v given x, of mean omega_2 + tilt x.

    The factor 1/4 = 1/2 * 1/2 comes from (x_1^2 + x_2^2) = (x_s^2 + x_d^2)/2.
    """
    mean_s = row.w_s + row.tilt * x_s
    base = row.square - QUARTER * row.inverse_v11 * x_s * x_s
    # Differences first: with few digits, a narrow Gaussian must not be the difference of large squares.
    a, b = v_s - mean_s, v_d - row.mean_d
    plus = base - QUARTER * row.precision * (a * a + b * b)
    a, b = v_s + mean_s, v_d + row.mean_d
    return plus, base - QUARTER * row.precision * (a * a + b * b)


@njit(fastmath=FAST, error_model="numpy")
def scan_row(cells, row):
    """Write the larger of the two log-weights into `cells`, the centres of one row, at most RUN; return their maximum."""
    for i in range(cells.size):
        x_s = row.start + NUMBERS[i] * row.step
        v_s, v_d, _ = _fields(row.omega_s + x_s, row)
        plus, minus = _log_weights(x_s, v_s, v_d, row)
        cells[i] = max(max(plus, minus), LOWEST)
    # Two separate loops, because the compiler vectorises no common loop.
    best = LOWEST
    for i in range(cells.size):
        best = max(best, cells[i])
    return best


@njit(fastmath=FAST, error_model="numpy")
def _weigh(nodes, count, shift, row):
    """Write v_s, v_d and the weights of (z, v) and (z, -v) of `count` nodes into the rows of `nodes` (4, RUN)."""
    v_s, v_d, plus, minus = nodes[0], nodes[1], nodes[2], nodes[3]
    for i in range(count):
        v_s[i], v_d[i], plus[i] = _fields(row.omega_s + (row.start + NUMBERS[i] * row.step), row)
    for i in range(count):
        log_plus, log_minus = _log_weights(row.start + NUMBERS[i] * row.step, v_s[i], v_d[i], row)
        factor = row.factor * plus[i]
        plus[i] = exp_of(log_plus - shift) * factor
        minus[i] = exp_of(log_minus - shift) * factor


@njit(fastmath=FAST, error_model="numpy")
def sum_row(total, nodes, count, parity, x_d, shift, row):
    """Add the first `count` nodes of one row, at most RUN, to the running sums `total` (SUMS,).

    `nodes` (4, RUN) is a work space: a processor overlaps the nodes of short loops better than those of one long loop. `parity`
    counts the rows of the checkerboard, `x_d` is d - omega_d of layer 1, and `shift` is subtracted from log-weights.
    """
    _weigh(nodes, count, shift, row)
    w_s = row.w_s
    w_d = row.w_d
    # x_d is constant along a row: moments with it follow from the others.
    z = imbalance = x_s1 = y_s1 = y_d1 = ZERO
    xx_ss = yy_ss = yy_sd = yy_dd = xy_ss = xy_sd = ZERO
    for i in range(count):
        x_s = row.start + NUMBERS[i] * row.step
        plus = nodes[2, i]
        minus = nodes[3, i]
        both = plus + minus
        # y = v - w with weight plus and -(v + w) with weight minus.
        above_s = nodes[0, i] - w_s
        above_d = nodes[1, i] - w_d
        below_s = nodes[0, i] + w_s
        below_d = nodes[1, i] + w_d
        plus_s = plus * above_s
        plus_d = plus * above_d
        minus_s = minus * below_s
        minus_d = minus * below_d
        y_s = plus_s - minus_s
        y_d = plus_d - minus_d
        z += both
        imbalance += both * COLORS[i]
        x_s1 += both * x_s
        y_s1 += y_s
        y_d1 += y_d
        xx_ss += both * x_s * x_s
        yy_ss += plus_s * above_s + minus_s * below_s
        yy_sd += plus_s * above_d + minus_s * below_d
        yy_dd += plus_d * above_d + minus_d * below_d
        xy_ss += x_s * y_s
        xy_sd += x_s * y_d
    total[NORM] += z
    total[X_S] += x_s1
    total[X_D] += x_d * z
    total[Y_S] += y_s1
    total[Y_D] += y_d1
    total[XX_SS] += xx_ss
    total[XX_SD] += x_d * x_s1
    total[XX_DD] += x_d * x_d * z
    total[YY_SS] += yy_ss
    total[YY_SD] += yy_sd
    total[YY_DD] += yy_dd
    total[XY_SS] += xy_ss
    total[XY_SD] += xy_sd
    total[XY_DS] += x_d * y_s1
    total[XY_DD] += x_d * y_d1
    total[IMBALANCE] += -imbalance if parity % 2 else imbalance
