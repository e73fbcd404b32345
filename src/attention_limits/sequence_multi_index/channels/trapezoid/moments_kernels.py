"""Posterior moments of two attention layers reading two tokens, by an adaptive two-dimensional trapezoid rule.

The model is that of Troiani et al. 2025 (arXiv:2502.00901), the quadrature our own. Notation of the kernels: layer 1 has the
fields z = (z_1, z_2), layer 2 the fields v = (v_1, v_2), one entry per token; the output fixes u = A(z) v up to a global sign,
with A(z) = softmax_rows(beta z z^T) + c I. Everything is done in the sum and the difference over tokens, s = z_1 + z_2 and
d = z_1 - z_2 (likewise for v and u), in which A is triangular:

    v_d = u_d / (c + delta),   v_s = (u_s + (S_12 - S_21) v_d) / (1 + c),   delta = 1 - S_12 - S_21,
    det A = (1 + c) (c + delta),   S_12 = 1 / (1 + exp(beta z_1 (z_1 - z_2))).

The remaining integral over (s, d) is analytic, so a trapezoid rule converges geometrically once its step resolves the
narrowest width, which shrinks with the conditional variance of layer 2. In d the nodes are equidistant in asinh(d / scale),
since for small c the integrand varies on the scale sqrt(4 c / beta) around d = 0. Where nothing is known about layer 1,
omega_1 = 0 and V_12 = 0, the integrand is even in (s, d): half of the lattice is enough.

The nodes of a row are computed in single or in double precision, the rows are summed up in double precision.
"""

import math

import numpy as np
from numba import prange

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.fast_math import LOWEST
from attention_limits.sequence_multi_index.channels.trapezoid.lattice_kernels import (
    CELL,
    MAX_CELLS,
    MAX_IMBALANCE,
    OMEGA_1D,
    OMEGA_1S,
    VECTOR,
    Output,
    lattice_of,
    widths_of,
)
from attention_limits.sequence_multi_index.channels.trapezoid.rows_kernels import (
    IMBALANCE,
    NORM,
    RUN,
    SUMS,
    X_D,
    X_S,
    XX_DD,
    XX_SD,
    XX_SS,
    XY_DD,
    XY_DS,
    XY_SD,
    XY_SS,
    Y_D,
    Y_S,
    YY_DD,
    YY_SD,
    YY_SS,
    row_of,
    scan_row,
    sum_row,
)

# Cells are left out if the log-weight at their centre, and at those of the rows above and below, is this far below the
# largest. In s a centre lies CELL * STEP / 2 = 1.4 widths from the edge: the weight left out is below
# exp(-(sqrt(2 * 34) - 1.4)^2 / 2) ~ 7e-11 of the maximum. In d the weight can fall abruptly inside a cell, where A becomes
# singular: therefore the rows above and below count too.
CUTOFF = 34.0
# Step in units of the estimated narrowest width, at resolution 1.
STEP = 0.7
# Beyond MAX_IMBALANCE the step is divided by sqrt(2), at most so many times, and until the lattice is full.
REFINEMENTS = 4
# Outputs per parallel block, which share one work space. The result does not depend on the number of threads.
BLOCK = 64


@njit(error_model="numpy")
def _is_active(grid, first, last, i, cut):
    """Whether a cell of column i, in one of the rows `first` to `last`, reaches the cutoff."""
    active = False
    for j in range(first, last + 1):
        active |= grid[j, i] > cut
    return active


@njit(error_model="numpy")
def _is_even(output):
    """Whether the integrand of an `output` is even in the fields of layer 1."""
    return output.omega[OMEGA_1S] == 0.0 and output.omega[OMEGA_1D] == 0.0 and output.V[1] == 0.0


@njit(error_model="numpy")
def _scan(grid, tops, lattice, begin, output):
    """Write the log-weights at the centres of the cells from row `begin` on into grid (rows, cols); return the largest.

    The largest one of each row goes into tops (rows,).
    """
    for j in range(begin, lattice.rows):
        # For c = 0 the matrix A is singular at d = 0 exactly, where the weight vanishes.
        d = lattice.scale * math.sinh(lattice.t_first + (j + 0.5) * CELL * lattice.t_step) + 1e-14
        step = CELL * lattice.s_step
        tops[j] = LOWEST
        for i in range(0, lattice.cols, RUN):
            row = row_of(grid, output, lattice.s_first + (i + 0.5) * step, step, d, 1.0)
            tops[j] = max(tops[j], scan_row(grid[j, i : i + RUN], row))
    return np.max(tops[begin:])


@njit(error_model="numpy")
def _sum(total, nodes, grid, tops, lattice, half, best, output):
    """Sum the nodes of all cells that reach the cutoff below `best`; of those with d > 0 alone, twice, if `half`."""
    cut = best - CUTOFF
    total[:] = 0.0
    for j in range(lattice.rows // 2 if half else 0, lattice.rows):
        above, below = max(j - 1, 0), min(j + 1, lattice.rows - 1)
        if np.max(tops[above : below + 1]) <= cut:
            continue
        # The middle one of an odd number of rows has d = 0 in its middle.
        skipped = CELL // 2 if half and 2 * j + 1 == lattice.rows else 0
        i = summed = 0
        while i < lattice.cols:
            first = i
            while i < lattice.cols and _is_active(grid, above, below, i, cut):
                i += 1
            if i > first:
                begin = max(summed, CELL * first // VECTOR * VECTOR)
                summed = (CELL * i + VECTOR - 1) // VECTOR * VECTOR
                for k in range(skipped, CELL):
                    t = lattice.t_first + (j * CELL + k + 0.5) * lattice.t_step
                    d = lattice.scale * math.sinh(t) + 1e-14
                    jacobian = lattice.scale * math.cosh(t)
                    for start in range(begin, summed, RUN):
                        s = lattice.s_first + (start + 0.5) * lattice.s_step
                        row = row_of(grid, output, s, lattice.s_step, d, jacobian)
                        sum_row(total, nodes, min(summed - start, RUN), k, d - output.omega[OMEGA_1D], best, row)
            i += 1
    if half:
        total[NORM] *= 2.0
        total[IMBALANCE] *= 2.0
        for k in (Y_S, Y_D, XX_SS, XX_SD, XX_DD, YY_SS, YY_SD, YY_DD):
            total[k] *= 2.0
        for k in (X_S, X_D, XY_SS, XY_SD, XY_DS, XY_DD):
            total[k] = 0.0


@njit(error_model="numpy")
def _moments(total, nodes, cells, output, resolution):
    """Fill total (SUMS,) with log Z and the moments of one output; nodes (4, RUN) and cells (MAX_CELLS,) are
    work spaces in the precision of the nodes.

    Returns True if the imbalance is below MAX_IMBALANCE.
    """
    widths = widths_of(output)
    half = _is_even(output)
    step = STEP / resolution
    resolved = False
    for _ in range(REFINEMENTS + 1):
        lattice = lattice_of(output, widths, step)
        grid = cells[: lattice.rows * lattice.cols].reshape((lattice.rows, lattice.cols))
        # One more row: a cell also counts if its neighbour does.
        tops = np.empty(lattice.rows, cells.dtype)
        best = _scan(grid, tops, lattice, max(lattice.rows // 2 - 1, 0) if half else 0, output)
        _sum(total, nodes, grid, tops, lattice, half, best, output)
        resolved = abs(total[IMBALANCE]) <= MAX_IMBALANCE * total[NORM]
        if resolved or lattice.full:
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
def two_layer_moments(u, omega, V, skip, beta, resolution, kind, log_z, mean, covariance, resolved):
    """Moments of p(h | u) ~ prod_a N(h_a; omega_a, V) delta(u -+ A(h_1) h_2), for n independent outputs.

    u (n, 2) and omega (n, 2, 2) = (sample, layer, token) are read; V (2, 2), skip c, beta and resolution (nodes per narrowest
    width, in units of 1 / STEP) are shared; the nodes are in the precision of the array `kind`. Written are log_z (n,), the
    log-density of u summed over both signs; mean (n, 2, 2) = E[h - omega | u]; covariance (n, 2, 2, 2, 2) =
    (sample, layer p, token a, layer q, token b) of h_pa and h_qb; resolved (n,) bool.
    """
    n = u.shape[0]
    blocks = (n + BLOCK - 1) // BLOCK
    for block in prange(blocks):
        cells = np.empty(MAX_CELLS, dtype=kind.dtype)
        nodes = np.empty((4, RUN), dtype=kind.dtype)
        total = np.empty(SUMS)
        for i in range(BLOCK * block, min(n, BLOCK * block + BLOCK)):
            rotated = (
                omega[i, 0, 0] + omega[i, 0, 1],
                omega[i, 0, 0] - omega[i, 0, 1],
                omega[i, 1, 0] + omega[i, 1, 1],
                omega[i, 1, 0] - omega[i, 1, 1],
            )
            u_s, u_d = u[i, 0] + u[i, 1], u[i, 0] - u[i, 1]
            output = Output(u_s, u_d, rotated, (V[0, 0], V[0, 1], V[1, 1]), skip, beta)
            resolved[i] = _moments(total, nodes, cells, output, resolution)
            log_z[i] = total[NORM]
            _to_tokens(total, mean[i], covariance[i])
