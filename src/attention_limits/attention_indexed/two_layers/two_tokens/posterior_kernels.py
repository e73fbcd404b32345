"""Posterior of the scores of two attention layers of extensive width that read two tokens, by an adaptive lattice.

Derived for this project. Only the differences (h_11 - h_12, h_22 - h_12) of symmetric 2 x 2 scores matter; the coordinates are
their sum and their difference. Layer 1: u = (u_s, u_d), prior means m, variances 8 V_1 and 4 V_1; layer 2, raw:
v = (v_s, v_d), prior means n, variances 8 V_2 and 4 V_2, all independent. With the attention weights
s_1, s_2 = 1 / (1 + exp(-beta u_1,2)) of each token to itself, u_1,2 = (u_s +- u_d) / 2, and e = c + s_1 + s_2 - 1, the second
eigenvalue of the mixing matrix (the first is c + 1), the output gives

    a_s = e^2 v_s,    a_d = e ((c + 1) v_d - (s_2 - s_1) v_s),    |d(a_s, a_d) / d(v_s, v_d)| = |e|^3 (c + 1),

so that the posterior of (u, v) given a is a density in u alone:

    exp(-(u_s - m_s)^2 / 16 V_1 - (u_d - m_d)^2 / 8 V_1 - (v_s(u) - n_s)^2 / 16 V_2 - (v_d(u) - n_d)^2 / 8 V_2) / |e|^3.

This density is summed on an equidistant lattice in (u_1, u_2), where s_1 and s_2 are functions of one coordinate each. A
trapezoid rule converges geometrically if its step resolves the width. The lattice finds this width: it starts with the whole
prior and zooms in. For c < 1 e vanishes on a line in u, and each side of the line has a lattice (`cut_kernels`).
"""

import math

import numpy as np
from numba import prange

from attention_limits.attention_indexed.two_layers.two_tokens.cut_kernels import (
    AT_BORDER,
    COLUMNS,
    HALF_1,
    HALF_2,
    MEAN_X_D,
    MEAN_X_S,
    MEAN_Y_D,
    MEAN_Y_S,
    ROWS,
    SQUARES_1,
    SQUARES_2,
    SUM,
    SUMS,
    box_of_side,
    sums_of_side,
)
from attention_limits.attention_indexed.two_layers.two_tokens.lattice_kernels import (
    Output,
    empty_lattice,
    fill,
    raw_scores,
    zoom,
)
from attention_limits.numerics.compiled import FAST, njit
from attention_limits.numerics.fast_math import exp

# Half width of the first lattice in prior standard deviations.
RANGE = 6.5
# Nodes per direction at first, and at most; doubled until the lattice resolves the density.
NODES = 32
MAX_NODES = 512
# Largest accepted |sum over even - sum over odd rows (columns)| / sum. For a Gaussian density the error of the lattice is its
# fourth power.
IMBALANCE = 2e-3
# Largest accepted weight at the border, relative to the largest.
BORDER = 1e-7
WIDENINGS = 4
# For c < 1 a side of the line is not refined where its share of the integral is below exp(-FAINT).
FAINT = 40.0

# Indices of the moments of one output: log Z; whitened means and, by layer, their summed mean squares.
LOG_Z, Z_X_S, Z_X_D, Z_Y_S, Z_Y_D, Z_SQUARES_1, Z_SQUARES_2 = range(7)
MOMENTS = 7


@njit(fastmath=FAST, error_model="numpy")
def _sums_of_plane(output, lattice, best, out):
    """Writes sums of the density, of x = u - m and y = v - n times it, and the accuracy of the lattice into `out` (SUMS,)."""
    u_1, s_1, u_2, s_2, log_weight = lattice
    a_s, a_d, skip = output.a_s, output.a_d, output.skip
    m_s, m_d, n_s, n_d = output.mean[0], output.mean[1], output.mean[2], output.mean[3]
    p_s, p_d, q_s, q_d = output.precision[0], output.precision[1], output.precision[2], output.precision[3]
    total = sum_s = sum_d = raw_s = raw_d = squares_1 = squares_2 = rows = columns = 0.0
    border = -1e300
    last_1, last_2 = u_1.size - 1, u_2.size - 1
    for i in range(u_1.size):
        z = z_s = z_d = z_vs = z_vd = z_1 = z_2 = alternating = 0.0
        row = log_weight[i]
        x, s = u_1[i], s_1[i]
        for j in range(u_2.size):
            v_s, v_d, _ = raw_scores(s, s_2[j], skip, a_s, a_d)
            w = exp(row[j] - best)
            # exp is clamped at -700: weights that small are zero.
            w = w if row[j] - best > -600.0 else 0.0
            z += w
            x_s = x + u_2[j] - m_s
            x_d = x - u_2[j] - m_d
            y_s = v_s - n_s
            y_d = v_d - n_d
            z_s += w * x_s
            z_d += w * x_d
            z_vs += w * y_s
            z_vd += w * y_d
            z_1 += w * (p_s * x_s * x_s + p_d * x_d * x_d)
            z_2 += w * (q_s * y_s * y_s + q_d * y_d * y_d)
            alternating += w * (1.0 - 2.0 * (j & 1))
        total += z
        sum_s += z_s
        sum_d += z_d
        raw_s += z_vs
        raw_d += z_vd
        squares_1 += z_1
        squares_2 += z_2
        rows += z * (1.0 - 2.0 * (i & 1))
        columns += alternating
        border = max(border, row[0], row[last_2])
    for j in range(u_2.size):
        border = max(border, log_weight[0, j], log_weight[last_1, j])
    out[SUM] = total
    out[MEAN_X_S] = sum_s / total
    out[MEAN_X_D] = sum_d / total
    out[MEAN_Y_S] = raw_s / total
    out[MEAN_Y_D] = raw_d / total
    out[SQUARES_1] = squares_1 / total
    out[SQUARES_2] = squares_2 / total
    out[ROWS] = abs(rows) / total
    out[COLUMNS] = abs(columns) / total
    out[AT_BORDER] = math.exp(border - best)


@njit(error_model="numpy")
def _sums(output, lattice, best, out):
    """As `_sums_of_plane`, in the coordinates of the lattice."""
    if output.side == 0.0:
        _sums_of_plane(output, lattice, best, out)
        return
    sums_of_side(output, lattice, best, out[:AT_BORDER])
    for k in range(MEAN_X_S, AT_BORDER):
        out[k] /= out[SUM]
    out[ROWS], out[COLUMNS] = abs(out[ROWS]), abs(out[COLUMNS])
    weights = lattice.log_weight
    border = max(weights[0].max(), weights[-1].max(), weights[:, 0].max(), weights[:, -1].max())
    out[AT_BORDER] = math.exp(border - best)


@njit(error_model="numpy")
def _log_integral(output, box, size, best, sums):
    """log of the integral that the sums of a lattice of `size` nodes per direction estimate."""
    # du_s du_d = 2 du_1 du_2; the weight on a side of the line holds its own Jacobian.
    cell = (2.0 if output.side == 0.0 else 1.0) * (2.0 * box[HALF_1] / size) * (2.0 * box[HALF_2] / size)
    return best + math.log(sums[SUM] * cell / (output.skip + 1.0))


@njit(error_model="numpy")
def _resolve(output, box, lattice, best, sums):
    """Widens the box and refines the lattice until it resolves the density, whose sums it rewrites; returns whether it does, and
    the log of the integral."""
    size, widenings = NODES, 0
    while True:
        inside = sums[AT_BORDER] <= BORDER
        if inside and sums[ROWS] <= IMBALANCE and sums[COLUMNS] <= IMBALANCE:
            return True, _log_integral(output, box, size, best, sums)
        if not inside and widenings < WIDENINGS:
            widenings += 1
            box[HALF_1] *= 1.5
            box[HALF_2] *= 1.5
        elif 2 * size <= MAX_NODES:
            size *= 2
            lattice = empty_lattice(size)
        else:
            return False, _log_integral(output, box, size, best, sums)
        best = fill(output, box, lattice)
        _sums(output, lattice, best, sums)


@njit(error_model="numpy")
def _both_sides(a_s, a_d, mean, variances, skip, beta, sums):
    """For c < 1: both sides of the line where e = 0, each with the share of its integral in the `sums`; returns whether they are
    resolved, and the log of the integral."""
    half_s, half_d = RANGE * math.sqrt(variances[0]), RANGE * math.sqrt(variances[1])
    boxes, found, lattices = np.empty((2, 4)), np.zeros((2, SUMS)), (empty_lattice(NODES), empty_lattice(NODES))
    logs, bests, resolved = np.full(2, -np.inf), np.empty(2), np.ones(2, np.bool_)
    for k in range(2):
        output = Output(a_s, a_d, mean, 1.0 / variances, skip, beta, 2.0 * k - 1.0)
        if box_of_side(output, half_s, half_d, boxes[k]):
            bests[k] = zoom(output, boxes[k], lattices[k])
            _sums(output, lattices[k], bests[k], found[k])
            logs[k] = _log_integral(output, boxes[k], NODES, bests[k], found[k])
    seen = max(logs[0], logs[1]) - FAINT
    for k in range(2):
        if logs[k] > -np.inf:
            # Not worth a finer lattice.
            resolved[k] = False
            if logs[k] >= seen:
                output = Output(a_s, a_d, mean, 1.0 / variances, skip, beta, 2.0 * k - 1.0)
                resolved[k], logs[k] = _resolve(output, boxes[k], lattices[k], bests[k], found[k])
    largest = max(logs[0], logs[1])
    total = math.exp(logs[0] - largest) + math.exp(logs[1] - largest)
    sums[:] = 0.0
    missed = 0.0
    for k in range(2):
        share = math.exp(logs[k] - largest) / total
        if share > 0.0:
            for i in range(MEAN_X_S, ROWS):
                sums[i] += share * found[k, i]
        missed += 0.0 if resolved[k] else share
    return missed <= BORDER, largest + math.log(total)


@njit(error_model="numpy")
def _posterior(a_s, a_d, mean, variances, skip, beta, out):
    """Writes the moments of one output into `out` (MOMENTS,); returns whether the lattice resolved the density."""
    sums = np.empty(SUMS)
    if skip >= 1.0:
        # Var u_1 = (Var u_s + Var u_d) / 4.
        half = RANGE * 0.5 * math.sqrt(variances[0] + variances[1])
        box = np.array([0.5 * (mean[0] + mean[1]), 0.5 * (mean[0] - mean[1]), half, half])
        output = Output(a_s, a_d, mean, 1.0 / variances, skip, beta, 0.0)
        lattice = empty_lattice(NODES)
        best = zoom(output, box, lattice)
        _sums(output, lattice, best, sums)
        resolved, log_z = _resolve(output, box, lattice, best, sums)
    else:
        resolved, log_z = _both_sides(a_s, a_d, mean, variances, skip, beta, sums)
    log_z -= 2.0 * math.log(2.0 * math.pi)
    for k in range(4):
        log_z -= 0.5 * math.log(variances[k])
        out[Z_X_S + k] = sums[MEAN_X_S + k] / math.sqrt(variances[k])
    out[LOG_Z] = log_z
    out[Z_SQUARES_1] = sums[SQUARES_1]
    out[Z_SQUARES_2] = sums[SQUARES_2]
    return resolved


@njit(parallel=True, error_model="numpy")
def posterior(a, means, V, skip, beta):
    """Posterior of n outputs.

    Parameters
    ----------
    a : array (n, 2)
        Sum and difference of the scores of layer 2, as the outputs determine them.
    means : array (n, 2, 2)
        Prior means (layer; sum, difference).
    V : array (2,)
        Variances of the layers.
    skip, beta : float

    Returns
    -------
    log_z : array (n,)
        Log density of a.
    z : array (n, 2, 2)
        Posterior means of the deviations from the prior means, in prior standard deviations.
    spread : array (n, 2)
        Sum of the posterior variances of the two deviations of a layer, in prior variances.
    resolved : bool array (n,)
    """
    count = len(a)
    log_z, z, spread = np.empty(count), np.empty((count, 2, 2)), np.empty((count, 2))
    resolved = np.empty(count, dtype=np.bool_)
    variances = np.array([8.0 * V[0], 4.0 * V[0], 8.0 * V[1], 4.0 * V[1]])
    for k in prange(count):
        out = np.empty(MOMENTS)
        resolved[k] = _posterior(a[k, 0], a[k, 1], means[k].copy().reshape(4), variances, skip, beta, out)
        log_z[k] = out[LOG_Z]
        z[k, 0, 0], z[k, 0, 1], z[k, 1, 0], z[k, 1, 1] = out[Z_X_S], out[Z_X_D], out[Z_Y_S], out[Z_Y_D]
        spread[k, 0] = out[Z_SQUARES_1] - out[Z_X_S] ** 2 - out[Z_X_D] ** 2
        spread[k, 1] = out[Z_SQUARES_2] - out[Z_Y_S] ** 2 - out[Z_Y_D] ** 2
    return log_z, z, spread, resolved
