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
from numba import njit, prange

from attention_limits.numerics.fast_math import exp

# Fine nodes per coarse cell and direction: cells are first scanned at their centre, then summed only where it matters.
CELL = 4
# Runs of nodes are widened to multiples of this, which the compiler sums without a scalar remainder.
VECTOR = 16
# Cells are left out if the log-weight at their centre, and at those of the rows above and below, is this far below the
# largest. In s a centre lies CELL * STEP / 2 = 1.4 widths from the edge: what is left out is below
# exp(-(sqrt(2 * 34) - 1.4)^2 / 2) ~ 7e-11 of the maximum. In d the weight can fall off a cliff inside a cell, where A becomes
# singular: hence the other rows.
CUTOFF = 34.0
# Half width of the integration range in prior standard deviations of s and of d.
RANGE = 6.5
# Step in units of the estimated narrowest width, at resolution 1.
STEP = 0.7
# Largest accepted |sum over white - sum over black nodes of the checkerboard| / sum; the squared value bounds, for a
# Gaussian integrand, the error of the whole lattice. Beyond it the step is divided by sqrt(2), at most REFINEMENTS times.
IMBALANCE = 1e-4
REFINEMENTS = 4
# Largest number of cells: one thread's work space is 8 MiB.
MAX_CELLS = 1 << 20

_FAST = {"nnan", "nsz", "arcp", "contract", "reassoc"}


@njit(fastmath=_FAST, error_model="numpy", inline="always")
def _fields(s, d, one_minus_exp, u_s, u_d, skip, beta):
    """(v_s, v_d, 1 / (c + delta)) at one node; one_minus_exp = 1 - exp(-beta d^2), so that delta is free of cancellation.

    With e_1 = exp(-beta z_1 d), e_2 = exp(beta z_2 d) and P = (1 + e_1)(1 + e_2): delta = one_minus_exp / P and
    S_12 - S_21 = (e_1 - e_2) / P, written with a single division. Exponents are cut at 80, where S is 1 to all digits.
    """
    e1 = exp(max(-80.0, min(80.0, -0.5 * beta * d * (d + s))))
    e2 = exp(max(-80.0, min(80.0, -0.5 * beta * d * (d - s))))
    product = (1.0 + e1) * (1.0 + e2)
    scaled = skip * product + one_minus_exp
    inverse = 1.0 / (product * scaled)
    inverse_determinant = product * product * inverse
    v_d = u_d * inverse_determinant
    v_s = (u_s + (e1 - e2) * scaled * inverse * v_d) / (1.0 + skip)
    return v_s, v_d, inverse_determinant


@njit(fastmath=_FAST, error_model="numpy", inline="always")
def _log_weights(x_s, x_d, v_s, v_d, w_s, w_d, p11, p12, p22):
    """(even, odd): the Gaussian log-weight of (z, v) is even + odd and that of (z, -v) is even - odd.

    x = z - omega_1, w = omega_2, p = V^-1; the factor 1/4 = 1/2 * 1/2 comes from (x_1^2 + x_2^2) = (x_s^2 + x_d^2)/2.
    """
    even = -0.25 * (
        p11 * (x_s * x_s + x_d * x_d)
        + p22 * (v_s * v_s + w_s * w_s + v_d * v_d + w_d * w_d)
        - 2.0 * p12 * (x_s * w_s + x_d * w_d)
    )
    odd = 0.5 * (v_s * (p22 * w_s - p12 * x_s) + v_d * (p22 * w_d - p12 * x_d))
    return even, odd


@njit(fastmath=_FAST, error_model="numpy")
def _scan_row(row, s_first, s_step, d, omega, precision, u_s, u_d, skip, beta):
    """Write the larger of the two log-weights at the cell centres of one row; return the row's maximum."""
    one_minus_exp = -math.expm1(-beta * d * d)
    for i in range(row.size):
        s = s_first + (i + 0.5) * s_step
        v_s, v_d, _ = _fields(s, d, one_minus_exp, u_s, u_d, skip, beta)
        even, odd = _log_weights(
            s - omega[0], d - omega[1], v_s, v_d, omega[2], omega[3], precision[0], precision[1], precision[2]
        )
        row[i] = max(even + abs(odd), -1e300)
    # A loop of its own, or neither is vectorised.
    best = -1e300
    for i in range(row.size):
        best = max(best, row[i])
    return best


@njit(fastmath=_FAST, error_model="numpy")
def _sum_row(total, begin, end, parity, s_first, s_step, d, jacobian, shift, omega, precision, u_s, u_d, skip, beta):
    """Add the nodes begin <= i < end of one row to the 16 running sums (see `_moments`)."""
    one_minus_exp = -math.expm1(-beta * d * d)
    x_d = d - omega[1]
    w_s = omega[2]
    w_d = omega[3]
    # x_d is constant along a row: moments with it follow from the others.
    z = imbalance = x_s1 = y_s1 = y_d1 = 0.0
    xx_ss = yy_ss = yy_sd = yy_dd = xy_ss = xy_sd = 0.0
    for i in range(begin, end):
        s = s_first + (i + 0.5) * s_step
        x_s = s - omega[0]
        v_s, v_d, inverse = _fields(s, d, one_minus_exp, u_s, u_d, skip, beta)
        even, odd = _log_weights(x_s, x_d, v_s, v_d, w_s, w_d, precision[0], precision[1], precision[2])
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
    total[0] += z
    total[1] += x_s1
    total[2] += x_d * z
    total[3] += y_s1
    total[4] += y_d1
    total[5] += xx_ss
    total[6] += x_d * x_s1
    total[7] += x_d * x_d * z
    total[8] += yy_ss
    total[9] += yy_sd
    total[10] += yy_dd
    total[11] += xy_ss
    total[12] += xy_sd
    total[13] += x_d * y_s1
    total[14] += x_d * y_d1
    total[15] += imbalance


@njit(error_model="numpy")
def _is_active(grid, j, i, cut):
    """Whether a cell, or its neighbour in the row above or below, reaches the cutoff."""
    rows = grid.shape[0]
    return grid[j, i] > cut or (j > 0 and grid[j - 1, i] > cut) or (j + 1 < rows and grid[j + 1, i] > cut)


@njit(error_model="numpy")
def _widths(omega, v11, v12, v22, u_d, skip, beta):
    """(scale, width_s, width_t): scale of the asinh map and narrowest width of the integrand in s and in t = asinh(d / scale)."""
    sd1 = math.sqrt(2.0 * v11)
    sd2 = math.sqrt(2.0 * (v22 - v12 * v12 / v11))
    v_d = abs(omega[3]) + 2.0 * math.sqrt(2.0 * v22)
    d = abs(omega[1]) + 3.0 * sd1
    # delta ~ beta d^2 / 4 must reach u_d / v_d - c somewhere: smaller differences have no weight.
    scale = math.sqrt(4.0 / beta * (skip + abs(u_d) / (v_d + 4.0 * math.sqrt(2.0 * v22))))
    scale = min(max(scale, 1e-5), 4.0 * sd1 + abs(omega[1]))
    tilt = abs(v12) / v11
    # Bounds on |dv/ds| and |dv/dt|, the latter fitted to the 99 % quantile over the prior for 0 <= c <= 8.
    slope_s = beta * d * v_d / (8.0 * (1.0 + skip)) + tilt
    jacobian = math.sqrt(scale * scale + d * d)
    slope_t = 2.0 * v_d / math.sqrt(1.0 + 2.0 * skip) + tilt * jacobian
    width_s = 1.0 / math.sqrt(1.0 / (sd1 * sd1) + (slope_s / sd2) ** 2 + (0.25 * beta * d) ** 2)
    width_t = 1.0 / math.sqrt(4.0 + (jacobian / sd1) ** 2 + (slope_t / sd2) ** 2)
    return scale, width_s, width_t


@njit(error_model="numpy")
def _moments(total, cells, omega, v11, v12, v22, u_s, u_d, skip, beta, resolution):
    """Fill total with log Z and the moments of x = z - omega_1, y = v - omega_2 in sum (s) and difference (d) over tokens.

    total : (16,) output: log Z; E x_s, x_d, y_s, y_d; E x_s x_s, x_s x_d, x_d x_d; the same for y y; E x_s y_s, x_s y_d,
        x_d y_s, x_d y_d; last the checkerboard imbalance reached.
    cells : (MAX_CELLS,) work space.
    omega : the prior means (omega_1s, omega_1d, omega_2s, omega_2d).
    Returns True if the imbalance is below IMBALANCE.
    """
    det_v = v11 * v22 - v12 * v12
    precision = (v22 / det_v, -v12 / det_v, v11 / det_v)
    scale, width_s, width_t = _widths(omega, v11, v12, v22, u_d, skip, beta)
    reach = RANGE * math.sqrt(2.0 * v11)
    t_first = math.asinh((omega[1] - reach) / scale)
    t_last = math.asinh((omega[1] + reach) / scale)
    step = STEP / resolution
    resolved = False
    for _ in range(REFINEMENTS + 1):
        cols = math.ceil(2.0 * reach / (CELL * step * width_s))
        rows = math.ceil((t_last - t_first) / (CELL * step * width_t))
        if cols * rows > MAX_CELLS:
            shrink = math.sqrt(MAX_CELLS / (cols * rows))
            cols = max(1, int(cols * shrink))
            rows = max(1, int(rows * shrink))
        s_step = 2.0 * reach / (cols * CELL)
        # Whole vectors on both sides of the centre: the nodes keep the symmetry of the prior, and unlearnt layers stay at zero.
        cols = (cols * CELL + VECTOR - 1) // VECTOR * (VECTOR // CELL)
        s_first = omega[0] - 0.5 * cols * CELL * s_step
        rows = min(rows, MAX_CELLS // cols)
        grid = cells[: rows * cols].reshape((rows, cols))
        t_step = (t_last - t_first) / (rows * CELL)
        best = -1e300
        for j in range(rows):
            # For c = 0 the matrix A is singular at d = 0 exactly; the weight vanishes there.
            d = scale * math.sinh(t_first + (j + 0.5) * CELL * t_step) + 1e-14
            best = max(best, _scan_row(grid[j], s_first, CELL * s_step, d, omega, precision, u_s, u_d, skip, beta))
        cut = best - CUTOFF
        total[:] = 0.0
        for j in range(rows):
            i = summed = 0
            while i < cols:
                first = i
                while i < cols and _is_active(grid, j, i, cut):
                    i += 1
                if i > first:
                    begin = max(summed, CELL * first // VECTOR * VECTOR)
                    summed = (CELL * i + VECTOR - 1) // VECTOR * VECTOR
                    for k in range(CELL):
                        t = t_first + (j * CELL + k + 0.5) * t_step
                        d = scale * math.sinh(t) + 1e-14
                        jacobian = scale * math.cosh(t)
                        _sum_row(
                            total, begin, summed, k, s_first, s_step, d, jacobian, best,
                            omega, precision, u_s, u_d, skip, beta,
                        )  # fmt: skip
                i += 1
        resolved = abs(total[15]) <= IMBALANCE * total[0]
        if resolved:
            break
        step *= math.sqrt(0.5)
    for k in range(1, 16):
        total[k] /= total[0]
    # dz_1 dz_2 = ds dd / 2, det A = (1 + c)(c + delta), and the Gaussian normalisation (2 pi)^-2 det(V)^-1.
    total[0] = (
        math.log(total[0] * s_step * t_step / (2.0 * (1.0 + skip) * det_v)) + best - 2.0 * math.log(2.0 * math.pi)
    )
    return resolved


@njit(error_model="numpy")
def _pair_to_tokens(ss, sd, ds, dd, out):
    """Moments over tokens, out[a, b] = E[x_a y_b], from those of sums and differences."""
    out[0, 0] = 0.25 * (ss + sd + ds + dd)
    out[0, 1] = 0.25 * (ss - sd + ds - dd)
    out[1, 0] = 0.25 * (ss + sd - ds - dd)
    out[1, 1] = 0.25 * (ss - sd - ds + dd)


@njit(parallel=True, error_model="numpy")
def two_layer_moments(u, omega, V, skip, beta, resolution, log_z, mean, covariance, resolved):
    """Moments of p(h | u) ~ prod_a N(h_a; omega_a, V) delta(u -+ A(h_1) h_2), for n independent outputs.

    u (n, 2) and omega (n, 2, 2) = (sample, layer, token) are read; V (2, 2), skip c, beta and resolution (nodes per narrowest
    width, in units of 1 / STEP) are shared; written are log_z (n,), the log-density
    of u summed over both signs; mean (n, 2, 2) = E[h - omega | u]; covariance (n, 2, 2, 2, 2) =
    (sample, layer p, token a, layer q, token b) of h_pa and h_qb; resolved (n,) bool.
    """
    n = u.shape[0]
    # One work space per block, and blocks of fixed size: the result does not depend on the number of threads.
    blocks = (n + 63) // 64
    for block in prange(blocks):
        cells = np.empty(MAX_CELLS)
        total = np.empty(16)
        for i in range(64 * block, min(n, 64 * block + 64)):
            rotated = (
                omega[i, 0, 0] + omega[i, 0, 1],
                omega[i, 0, 0] - omega[i, 0, 1],
                omega[i, 1, 0] + omega[i, 1, 1],
                omega[i, 1, 0] - omega[i, 1, 1],
            )
            resolved[i] = _moments(
                total, cells, rotated, V[0, 0], V[0, 1], V[1, 1], u[i, 0] + u[i, 1], u[i, 0] - u[i, 1],
                skip, beta, resolution,
            )  # fmt: skip
            log_z[i] = total[0]
            for p in range(2):
                mean[i, p, 0] = 0.5 * (total[1 + 2 * p] + total[2 + 2 * p])
                mean[i, p, 1] = 0.5 * (total[1 + 2 * p] - total[2 + 2 * p])
            cov = covariance[i]
            _pair_to_tokens(total[5], total[6], total[6], total[7], cov[0, :, 0, :])
            _pair_to_tokens(total[8], total[9], total[9], total[10], cov[1, :, 1, :])
            _pair_to_tokens(total[11], total[12], total[13], total[14], cov[0, :, 1, :])
            for p in range(2):
                for q in range(p, 2):
                    for a in range(2):
                        for b in range(a if p == q else 0, 2):
                            cov[p, a, q, b] -= mean[i, p, a] * mean[i, q, b]
                            cov[q, b, p, a] = cov[p, a, q, b]
