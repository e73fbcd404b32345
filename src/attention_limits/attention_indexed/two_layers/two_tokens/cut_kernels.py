"""The density of `two_tokens.posterior_kernels` for c < 1, in coordinates that end at the line on which the mixing matrix is
singular.

Derived for this project, with the notation of `two_tokens.posterior_kernels`. For c < 1 the eigenvalue e = c + s_1 + s_2 - 1
vanishes on the line u_s = l(u_d): with q = 1 - c and y = exp(beta u_s / 2), s_1 + s_2 = q reads

    (2 - q) y^2 + 2 C y - q = 0,    C = (1 - q) cosh(beta u_d / 2),    l(u_d) = (2 / beta) log(q / (C + sqrt(C^2 + q (2 - q)))).

At the line the density vanishes faster than every power of e, because v_s = a_s / e^2 diverges, but its width is that of |e|
itself, at any small |e|. In the logarithm of the distance to the line its width is of order one, so each side of the line has
a lattice in

    t = log |u_s - l(u_d)|    and    u_d,    du_s du_d = exp(t) dt du_d.

The arrays of a `Lattice` hold t and exp(t) along the first direction, u_d and l(u_d) along the second.
"""

import math

from attention_limits.numerics.compiled import FAST, njit
from attention_limits.numerics.fast_math import exp, log

# The first lattice reaches from this fraction of its largest distance to the line.
NEAREST = 1e-7
# Beyond this beta |u_d| / 2, cosh is half of an exponential.
_STEEP = 300.0

# Indices of a box: centres and half widths in u_1 and u_2, or in t and u_d.
CENTRE_1, CENTRE_2, HALF_1, HALF_2 = range(4)
# Indices of the sums of one lattice: sum of the density; means of x_s, x_d, y_s, y_d; means of their squares in prior standard
# deviations, summed by layer; imbalance of rows and of columns; largest weight at the border over the largest weight.
SUM, MEAN_X_S, MEAN_X_D, MEAN_Y_S, MEAN_Y_D, SQUARES_1, SQUARES_2, ROWS, COLUMNS, AT_BORDER = range(10)
SUMS = 10


@njit(error_model="numpy")
def line(u_d, skip, beta):
    """l(u_d), for 0 <= `skip` < 1 and beta > 0."""
    q, y = 1.0 - skip, 0.5 * beta * abs(u_d)
    if skip == 0.0:
        return 0.0
    if y > _STEEP:
        return 2.0 / beta * (math.log(q / skip) - y)
    C = skip * math.cosh(y)
    return 2.0 / beta * math.log(q / (C + math.sqrt(C * C + q * (2.0 - q))))


@njit(error_model="numpy")
def box_of_side(output, half_s, half_d, box):
    """Write centres and half widths of t and u_d on the side `output.side` into `box`; return whether it has prior weight.

    The prior reaches half_s and half_d from the means m_s and m_d.
    """
    m_s, m_d = output.mean[0], output.mean[1]
    # l(u_d) is even and falls with |u_d|.
    highest = line(max(abs(m_d) - half_d, 0.0), output.skip, output.beta)
    lowest = line(abs(m_d) + half_d, output.skip, output.beta)
    largest = half_s + max(output.side * (m_s - highest), output.side * (m_s - lowest))
    if largest <= 0.0:
        return False
    t = math.log(largest)
    box[CENTRE_1], box[CENTRE_2] = t + 0.5 * math.log(NEAREST), m_d
    box[HALF_1], box[HALF_2] = -0.5 * math.log(NEAREST), half_d
    return True


@njit(fastmath=FAST, error_model="numpy", inline="always")
def _at(distance, u_d, on_line, side, skip, beta, a_s, a_d):
    """(u_s, v_s, v_d, 1 / |e|) at a distance from the point u_s = on_line of the line."""
    u_s = on_line + side * distance
    s_1 = 1.0 / (1.0 + exp(-0.5 * beta * (u_s + u_d)))
    s_2 = 1.0 / (1.0 + exp(-0.5 * beta * (u_s - u_d)))
    e = skip + (s_1 + s_2 - 1.0)
    # Rounding must not move a point to the other side; beyond |1/e| = 1e9 the density is zero anyway.
    e = side * max(side * e, 1e-9)
    inverse = 1.0 / e
    v_s = a_s * inverse * inverse
    return u_s, v_s, (a_d * inverse + (s_2 - s_1) * v_s) / (skip + 1.0), side * inverse


@njit(fastmath=FAST, error_model="numpy")
def fill_side(output, box, lattice):
    """Writes the `lattice` of a `box` (centres, half widths) for an `output`; returns the largest log-density in (t, u_d)."""
    ts, distances, u_ds, lines, log_weight = lattice
    step_1, step_2 = 2.0 * box[HALF_1] / ts.size, 2.0 * box[HALF_2] / u_ds.size
    for i in range(ts.size):
        ts[i] = box[CENTRE_1] - box[HALF_1] + (i + 0.5) * step_1
        distances[i] = exp(ts[i])
    for j in range(u_ds.size):
        u_ds[j] = box[CENTRE_2] - box[HALF_2] + (j + 0.5) * step_2
        lines[j] = line(u_ds[j], output.skip, output.beta)
    a_s, a_d, side, skip, beta = output.a_s, output.a_d, output.side, output.skip, output.beta
    m_s, m_d, n_s, n_d = output.mean[0], output.mean[1], output.mean[2], output.mean[3]
    p_s, p_d, q_s, q_d = output.precision[0], output.precision[1], output.precision[2], output.precision[3]
    best = -1e300
    for i in range(ts.size):
        row, t, distance = log_weight[i], ts[i], distances[i]
        for j in range(u_ds.size):
            u_s, v_s, v_d, inverse = _at(distance, u_ds[j], lines[j], side, skip, beta, a_s, a_d)
            x_s = u_s - m_s
            x_d = u_ds[j] - m_d
            y_s = v_s - n_s
            y_d = v_d - n_d
            square = p_s * x_s * x_s + p_d * x_d * x_d + q_s * y_s * y_s + q_d * y_d * y_d
            row[j] = t + 3.0 * log(inverse) - 0.5 * square
        for j in range(u_ds.size):
            best = max(best, row[j])
    return best


@njit(fastmath=FAST, error_model="numpy")
def sums_of_side(output, lattice, best, out):
    """Writes sums over the `lattice` of an `output` into `out` (AT_BORDER,): SUM to COLUMNS, not yet divided by SUM.

    The weights are relative to that of the largest log-density, `best`.

    The weight, and the weight times x_s, x_d, y_s, y_d, times the squares of each layer in prior standard deviations, and times
    signs that alternate along the first and along the second direction.
    """
    _, distances, u_ds, lines, log_weight = lattice
    a_s, a_d, side, skip, beta = output.a_s, output.a_d, output.side, output.skip, output.beta
    m_s, m_d, n_s, n_d = output.mean[0], output.mean[1], output.mean[2], output.mean[3]
    p_s, p_d, q_s, q_d = output.precision[0], output.precision[1], output.precision[2], output.precision[3]
    out[:] = 0.0
    for i in range(distances.size):
        z = z_s = z_d = z_vs = z_vd = z_1 = z_2 = alternating = 0.0
        row, distance = log_weight[i], distances[i]
        for j in range(u_ds.size):
            u_s, v_s, v_d, _ = _at(distance, u_ds[j], lines[j], side, skip, beta, a_s, a_d)
            # exp is clamped at -700: weights that small are zero, even times a large v.
            seen = row[j] - best > -600.0
            w = exp(row[j] - best) if seen else 0.0
            x_s = u_s - m_s
            x_d = u_ds[j] - m_d
            y_s = v_s - n_s if seen else 0.0
            y_d = v_d - n_d if seen else 0.0
            z += w
            z_s += w * x_s
            z_d += w * x_d
            z_vs += w * y_s
            z_vd += w * y_d
            z_1 += w * (p_s * x_s * x_s + p_d * x_d * x_d)
            z_2 += w * (q_s * y_s * y_s + q_d * y_d * y_d)
            alternating += w * (1.0 - 2.0 * (j & 1))
        out[SUM] += z
        out[MEAN_X_S] += z_s
        out[MEAN_X_D] += z_d
        out[MEAN_Y_S] += z_vs
        out[MEAN_Y_D] += z_vd
        out[SQUARES_1] += z_1
        out[SQUARES_2] += z_2
        out[ROWS] += z * (1.0 - 2.0 * (i & 1))
        out[COLUMNS] += alternating
