"""The lattice of the trapezoid rule of `moments_kernels`: equidistant in s, and in t = asinh(d / scale).

Derived for this project; s and d are sum and difference of the fields of layer 1 over the two tokens.
"""

import math
from typing import NamedTuple

from attention_limits.numerics.compiled import njit

# Fine nodes per coarse cell and direction: cells are first scanned at their centre, then summed only where it matters.
CELL = 4
# Runs of nodes are widened to multiples of this, which the compiler sums without a scalar remainder.
VECTOR = 16
# Half width of the integration range in prior standard deviations of s and of d.
RANGE = 6.5
# Largest number of cells: one thread's work space is 8 MiB.
MAX_CELLS = 1 << 20
# Largest accepted |sum over white - sum over black nodes of the checkerboard| / sum, in one dimension even and odd nodes. Its
# square bounds, for a Gaussian integrand, the error of the whole lattice.
MAX_IMBALANCE = 1e-4
# Prior means omega of one output: layer 1 and layer 2, sum and difference over tokens.
OMEGA_1S, OMEGA_1D, OMEGA_2S, OMEGA_2D = range(4)


class Output(NamedTuple):
    """One output: score root (u_s, u_d), prior means omega (4,), V (v11, v12, v22), skip c and beta."""

    u_s: float
    u_d: float
    omega: tuple
    V: tuple
    skip: float
    beta: float


class Lattice(NamedTuple):
    """Nodes in s from s_first by s_step, in t = asinh(d / scale) from t_first by t_step; rows and cols count the cells.

    full: the step asked for more than MAX_CELLS cells, and a smaller one gives the same lattice.
    """

    rows: int
    cols: int
    s_first: float
    s_step: float
    t_first: float
    t_step: float
    scale: float
    full: bool


@njit(error_model="numpy")
def widths_of(output):
    """(scale, width_s, width_t) of an `output`: scale of the asinh map, and narrowest widths of the integrand in s and in t."""
    v11, v12, v22 = output.V
    skip, beta = output.skip, output.beta
    sd1 = math.sqrt(2.0 * v11)
    sd2 = math.sqrt(2.0 * (v22 - v12 * v12 / v11))
    v_d = abs(output.omega[OMEGA_2D]) + 2.0 * math.sqrt(2.0 * v22)
    d = abs(output.omega[OMEGA_1D]) + 3.0 * sd1
    # delta ~ beta d^2 / 4 must reach u_d / v_d - c somewhere: smaller differences have no weight.
    scale = math.sqrt(4.0 / beta * (skip + abs(output.u_d) / (v_d + 4.0 * math.sqrt(2.0 * v22))))
    scale = min(max(scale, 1e-5), 4.0 * sd1 + abs(output.omega[OMEGA_1D]))
    tilt = abs(v12) / v11
    # Bounds on |dv/ds| and |dv/dt|, the latter fitted to the 99 % quantile over the prior for 0 <= c <= 8.
    slope_s = beta * d * v_d / (8.0 * (1.0 + skip)) + tilt
    jacobian = math.sqrt(scale * scale + d * d)
    slope_t = 2.0 * v_d / math.sqrt(1.0 + 2.0 * skip) + tilt * jacobian
    width_s = 1.0 / math.sqrt(1.0 / (sd1 * sd1) + (slope_s / sd2) ** 2 + (0.25 * beta * d) ** 2)
    width_t = 1.0 / math.sqrt(4.0 + (jacobian / sd1) ** 2 + (slope_t / sd2) ** 2)
    return scale, width_s, width_t


@njit(error_model="numpy")
def lattice_of(output, widths, step):
    """The lattice of an `output` with a `step` in units of the narrowest `widths`, those of `widths_of`."""
    scale, width_s, width_t = widths
    reach = RANGE * math.sqrt(2.0 * output.V[0])
    t_first = math.asinh((output.omega[OMEGA_1D] - reach) / scale)
    t_last = math.asinh((output.omega[OMEGA_1D] + reach) / scale)
    cols = math.ceil(2.0 * reach / (CELL * step * width_s))
    rows = math.ceil((t_last - t_first) / (CELL * step * width_t))
    full = cols * rows > MAX_CELLS
    if full:
        shrink = math.sqrt(MAX_CELLS / (cols * rows))
        cols = max(1, int(cols * shrink))
        rows = max(1, int(rows * shrink))
    s_step = 2.0 * reach / (cols * CELL)
    # Whole vectors on both sides of the centre: the nodes keep the symmetry of the prior, and unlearned layers stay at zero.
    cols = (cols * CELL + VECTOR - 1) // VECTOR * (VECTOR // CELL)
    s_first = output.omega[OMEGA_1S] - 0.5 * cols * CELL * s_step
    rows = min(rows, MAX_CELLS // cols)
    return Lattice(rows, cols, s_first, s_step, t_first, (t_last - t_first) / (rows * CELL), scale, full)
