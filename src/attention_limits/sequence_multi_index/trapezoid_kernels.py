"""Posterior moments of two attention layers reading two tokens, by an adaptive two-dimensional trapezoid rule.

The model is that of Troiani et al. 2025 (arXiv:2502.00901), the quadrature our own. Notation of the kernels: layer 1 has the
fields z = (z_1, z_2), layer 2 the fields v = (v_1, v_2), one entry per token; the output fixes u = A(z) v up to a global sign,
with A(z) = softmax_rows(beta z z^T) + c I. Everything is done in the sum and the difference over tokens, s = z_1 + z_2 and
d = z_1 - z_2 (likewise for v and u), in which A is triangular:

    v_d = u_d / (c + delta),   v_s = (u_s + (S_12 - S_21) v_d) / (1 + c),   delta = 1 - S_12 - S_21,
    det A = (1 + c) (c + delta),   S_12 = 1 / (1 + exp(beta z_1 (z_1 - z_2))).

The remaining integral over (s, d) is analytic, so a trapezoid rule converges geometrically once its step resolves the
narrowest width, which shrinks with the conditional variance of layer 2. In d the nodes are equidistant in asinh(d / scale),
since for small c the integrand varies on the scale sqrt(4 c / beta) around d = 0.
"""

import math

import numpy as np
from numba import prange

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.fast_math import exp
from attention_limits.sequence_multi_index.trapezoid_lattice_kernels import (
    CELL,
    MAX_CELLS,
    OMEGA_1D,
    OMEGA_1S,
    OMEGA_2D,
    OMEGA_2S,
    P_11,
    P_12,
    P_22,
    VECTOR,
    Output,
    lattice_of,
    widths_of,
)

# Cells are left out if the log-weight at their centre, and at those of the rows above and below, is this far below the
# largest. In s a centre lies CELL * STEP / 2 = 1.4 widths from the edge: the weight left out is below
# exp(-(sqrt(2 * 34) - 1.4)^2 / 2) ~ 7e-11 of the maximum. In d the weight can fall off a cliff inside a cell, where A becomes
# singular: hence the other rows.
CUTOFF = 34.0
# Step in units of the estimated narrowest width, at resolution 1.
STEP = 0.7
# Largest accepted |sum over white - sum over black nodes of the checkerboard| / sum; the squared value bounds, for a
# Gaussian integrand, the error of the whole lattice. Beyond it the step is divided by sqrt(2), at most REFINEMENTS times.
MAX_IMBALANCE = 1e-4
REFINEMENTS = 4
# Outputs per parallel block, which share one work space. The result does not depend on the number of threads.
BLOCK = 64
# Log-weight of nothing.
LOWEST = -1e300

# The running sums of one output, in the end its moments: of x = z - omega_1 and y = v - omega_2, in the sum (S) and difference
# (D) over tokens. NORM is the sum of the weights, in the end log Z; IMBALANCE that of the checkerboard.
(
    NORM, X_S, X_D, Y_S, Y_D, XX_SS, XX_SD, XX_DD, YY_SS, YY_SD, YY_DD, XY_SS, XY_SD, XY_DS, XY_DD, IMBALANCE,
) = range(16)  # fmt: skip
SUMS = 16

_FAST = {"nnan", "nsz", "arcp", "contract", "reassoc"}


@njit(fastmath=_FAST, error_model="numpy", inline="always")
def _fields(s, d, one_minus_exp, output):
    """(v_s, v_d, 1 / (c + delta)) at one node; one_minus_exp = 1 - exp(-beta d^2), so that delta is free of cancellation.

    With e_1 = exp(-beta z_1 d), e_2 = exp(beta z_2 d) and P = (1 + e_1)(1 + e_2): delta = one_minus_exp / P and
    S_12 - S_21 = (e_1 - e_2) / P, written with a single division. Exponents are cut at 80, where S is 1 to all digits.
    """
    skip = output.skip
    e1 = exp(max(-80.0, min(80.0, -0.5 * output.beta * d * (d + s))))
    e2 = exp(max(-80.0, min(80.0, -0.5 * output.beta * d * (d - s))))
    product = (1.0 + e1) * (1.0 + e2)
    scaled = skip * product + one_minus_exp
    inverse = 1.0 / (product * scaled)
    inverse_determinant = product * product * inverse
    v_d = output.u_d * inverse_determinant
    v_s = (output.u_s + (e1 - e2) * scaled * inverse * v_d) / (1.0 + skip)
    return v_s, v_d, inverse_determinant


@njit(fastmath=_FAST, error_model="numpy", inline="always")
def _log_weights(x_s, x_d, v_s, v_d, output):
    """(even, odd): the Gaussian log-weight of (z, v) is even + odd and that of (z, -v) is even - odd.

    x = z - omega_1, w = omega_2, p = V^-1; the factor 1/4 = 1/2 * 1/2 comes from (x_1^2 + x_2^2) = (x_s^2 + x_d^2)/2.
    """
    w_s, w_d = output.omega[OMEGA_2S], output.omega[OMEGA_2D]
    p11, p12, p22 = output.precision[P_11], output.precision[P_12], output.precision[P_22]
    even = -0.25 * (
        p11 * (x_s * x_s + x_d * x_d)
        + p22 * (v_s * v_s + w_s * w_s + v_d * v_d + w_d * w_d)
        - 2.0 * p12 * (x_s * w_s + x_d * w_d)
    )
    odd = 0.5 * (v_s * (p22 * w_s - p12 * x_s) + v_d * (p22 * w_d - p12 * x_d))
    return even, odd


@njit(fastmath=_FAST, error_model="numpy")
def _scan_row(row, s_first, s_step, d, output):
    """Write the larger of the two log-weights at the cell centres of one row; return the row's maximum."""
    one_minus_exp = -math.expm1(-output.beta * d * d)
    for i in range(row.size):
        s = s_first + (i + 0.5) * s_step
        v_s, v_d, _ = _fields(s, d, one_minus_exp, output)
        even, odd = _log_weights(s - output.omega[OMEGA_1S], d - output.omega[OMEGA_1D], v_s, v_d, output)
        row[i] = max(even + abs(odd), LOWEST)
    # Two separate loops, because the compiler vectorises no common loop.
    best = LOWEST
    for i in range(row.size):
        best = max(best, row[i])
    return best


@njit(fastmath=_FAST, error_model="numpy")
def _sum_row(total, begin, end, parity, s_first, s_step, d, jacobian, shift, output):
    """Add the nodes begin <= i < end of one row to the running sums `total` (SUMS,)."""
    one_minus_exp = -math.expm1(-output.beta * d * d)
    x_d = d - output.omega[OMEGA_1D]
    w_s = output.omega[OMEGA_2S]
    w_d = output.omega[OMEGA_2D]
    # x_d is constant along a row: moments with it follow from the others.
    z = imbalance = x_s1 = y_s1 = y_d1 = 0.0
    xx_ss = yy_ss = yy_sd = yy_dd = xy_ss = xy_sd = 0.0
    for i in range(begin, end):
        s = s_first + (i + 0.5) * s_step
        x_s = s - output.omega[OMEGA_1S]
        v_s, v_d, inverse = _fields(s, d, one_minus_exp, output)
        even, odd = _log_weights(x_s, x_d, v_s, v_d, output)
        factor = jacobian * inverse
        plus = exp(even + odd - shift) * factor
        minus = exp(even - odd - shift) * factor
        both = plus + minus
        difference = plus - minus
        # y = v - w with weight plus and -v - w with weight minus.
        y_s = difference * v_s - both * w_s
        y_d = difference * v_d - both * w_d
        t_s = both * v_s - difference * w_s
        t_d = both * v_d - difference * w_d
        z += both
        imbalance += both * (1.0 - 2.0 * ((i + parity) & 1))
        x_s1 += both * x_s
        y_s1 += y_s
        y_d1 += y_d
        xx_ss += both * x_s * x_s
        yy_ss += v_s * t_s - w_s * y_s
        yy_sd += v_d * t_s - w_d * y_s
        yy_dd += v_d * t_d - w_d * y_d
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
    total[IMBALANCE] += imbalance


@njit(error_model="numpy")
def _is_active(grid, j, i, cut):
    """Whether a cell, or its neighbour in the row above or below, reaches the cutoff."""
    rows = grid.shape[0]
    return grid[j, i] > cut or (j > 0 and grid[j - 1, i] > cut) or (j + 1 < rows and grid[j + 1, i] > cut)


@njit(error_model="numpy")
def _scan(grid, lattice, output):
    """Write the log-weights at the centres of all cells into grid (rows, cols); return the largest."""
    best = LOWEST
    for j in range(lattice.rows):
        # For c = 0 the matrix A is singular at d = 0 exactly; the weight vanishes there.
        d = lattice.scale * math.sinh(lattice.t_first + (j + 0.5) * CELL * lattice.t_step) + 1e-14
        best = max(best, _scan_row(grid[j], lattice.s_first, CELL * lattice.s_step, d, output))
    return best


@njit(error_model="numpy")
def _sum(total, grid, lattice, best, output):
    """Sum the nodes of all cells that reach the cutoff below `best`."""
    cut = best - CUTOFF
    total[:] = 0.0
    for j in range(lattice.rows):
        i = summed = 0
        while i < lattice.cols:
            first = i
            while i < lattice.cols and _is_active(grid, j, i, cut):
                i += 1
            if i > first:
                begin = max(summed, CELL * first // VECTOR * VECTOR)
                summed = (CELL * i + VECTOR - 1) // VECTOR * VECTOR
                for k in range(CELL):
                    t = lattice.t_first + (j * CELL + k + 0.5) * lattice.t_step
                    d = lattice.scale * math.sinh(t) + 1e-14
                    jacobian = lattice.scale * math.cosh(t)
                    _sum_row(
                        total, begin, summed, k, lattice.s_first, lattice.s_step, d, jacobian, best, output
                    )  # fmt: skip
            i += 1


@njit(error_model="numpy")
def _moments(total, cells, output, resolution):
    """Fill total (SUMS,) with log Z and the moments of one output; cells (MAX_CELLS,) is a work space.

    Returns True if the imbalance is below MAX_IMBALANCE.
    """
    widths = widths_of(output)
    step = STEP / resolution
    resolved = False
    for _ in range(REFINEMENTS + 1):
        lattice = lattice_of(output, widths, step)
        grid = cells[: lattice.rows * lattice.cols].reshape((lattice.rows, lattice.cols))
        best = _scan(grid, lattice, output)
        _sum(total, grid, lattice, best, output)
        resolved = abs(total[IMBALANCE]) <= MAX_IMBALANCE * total[NORM]
        if resolved:
            break
        step *= math.sqrt(0.5)
    for k in range(1, SUMS):
        total[k] /= total[NORM]
    # dz_1 dz_2 = ds dd / 2, det A = (1 + c)(c + delta), and the Gaussian normalisation (2 pi)^-2 det(V)^-1.
    v11, v12, v22 = output.V
    det_v = v11 * v22 - v12 * v12
    norm = total[NORM] * lattice.s_step * lattice.t_step / (2.0 * (1.0 + output.skip) * det_v)
    total[NORM] = math.log(norm) + best - 2.0 * math.log(2.0 * math.pi)
    return resolved


@njit(error_model="numpy")
def _pair_to_tokens(ss, sd, ds, dd, out):
    """Moments over tokens, out[a, b] = E[x_a y_b], from those of sums and differences."""
    out[0, 0] = 0.25 * (ss + sd + ds + dd)
    out[0, 1] = 0.25 * (ss - sd + ds - dd)
    out[1, 0] = 0.25 * (ss + sd - ds - dd)
    out[1, 1] = 0.25 * (ss - sd - ds + dd)


@njit(error_model="numpy")
def _to_tokens(total, mean, covariance):
    """Write mean (layer, token) and covariance (layer, token, layer, token) from the moments of sums and differences."""
    mean[0, 0] = 0.5 * (total[X_S] + total[X_D])
    mean[0, 1] = 0.5 * (total[X_S] - total[X_D])
    mean[1, 0] = 0.5 * (total[Y_S] + total[Y_D])
    mean[1, 1] = 0.5 * (total[Y_S] - total[Y_D])
    _pair_to_tokens(total[XX_SS], total[XX_SD], total[XX_SD], total[XX_DD], covariance[0, :, 0, :])
    _pair_to_tokens(total[YY_SS], total[YY_SD], total[YY_SD], total[YY_DD], covariance[1, :, 1, :])
    _pair_to_tokens(total[XY_SS], total[XY_SD], total[XY_DS], total[XY_DD], covariance[0, :, 1, :])
    for p in range(2):
        for q in range(p, 2):
            for a in range(2):
                for b in range(a if p == q else 0, 2):
                    covariance[p, a, q, b] -= mean[p, a] * mean[q, b]
                    covariance[q, b, p, a] = covariance[p, a, q, b]


@njit(parallel=True, error_model="numpy")
def two_layer_moments(u, omega, V, skip, beta, resolution, log_z, mean, covariance, resolved):
    """Moments of p(h | u) ~ prod_a N(h_a; omega_a, V) delta(u -+ A(h_1) h_2), for n independent outputs.

    u (n, 2) and omega (n, 2, 2) = (sample, layer, token) are read; V (2, 2), skip c, beta and resolution (nodes per narrowest
    width, in units of 1 / STEP) are shared; written are log_z (n,), the log-density
    of u summed over both signs; mean (n, 2, 2) = E[h - omega | u]; covariance (n, 2, 2, 2, 2) =
    (sample, layer p, token a, layer q, token b) of h_pa and h_qb; resolved (n,) bool.
    """
    n = u.shape[0]
    v11, v12, v22 = V[0, 0], V[0, 1], V[1, 1]
    det_v = v11 * v22 - v12 * v12
    precision = (v22 / det_v, -v12 / det_v, v11 / det_v)
    blocks = (n + BLOCK - 1) // BLOCK
    for block in prange(blocks):
        cells = np.empty(MAX_CELLS)
        total = np.empty(SUMS)
        for i in range(BLOCK * block, min(n, BLOCK * block + BLOCK)):
            rotated = (
                omega[i, 0, 0] + omega[i, 0, 1],
                omega[i, 0, 0] - omega[i, 0, 1],
                omega[i, 1, 0] + omega[i, 1, 1],
                omega[i, 1, 0] - omega[i, 1, 1],
            )
            u_s, u_d = u[i, 0] + u[i, 1], u[i, 0] - u[i, 1]
            output = Output(u_s, u_d, rotated, (v11, v12, v22), precision, skip, beta)
            resolved[i] = _moments(total, cells, output, resolution)
            log_z[i] = total[NORM]
            _to_tokens(total, mean[i], covariance[i])
