"""The lattice of `two_tokens.posterior_kernels`: the density of one output in u, and the box that zooms in on it.

Derived for this project, with the equations of `two_tokens.posterior_kernels`.
"""

import math
from typing import NamedTuple

import numpy as np

from attention_limits.attention_indexed.two_layers.two_tokens.cut_kernels import (
    CENTRE_1,
    CENTRE_2,
    HALF_1,
    HALF_2,
    fill_side,
)
from attention_limits.numerics.compiled import FAST, njit
from attention_limits.numerics.fast_math import exp, log

# The range is chosen by the shape of a flattened density, its POWER: a second mode counts by the same power of its mass, so that
# one of 1e-5 still widens the range to where it is. Where fewer nodes than SHARED share the weight (sum^2 / sum of squares) the
# lattice does not see the shape, and the power is halved until it does.
POWER = 0.25
SHARED = 12.0
# Half width of the next lattice, in standard deviations of the flattened density; those of the density are smaller by
# the factor sqrt(POWER).
ZOOM = 4.0
ZOOMS = 40
# Zooming ends when it would shrink neither direction of the box below this fraction.
GAIN = 0.7


class Output(NamedTuple):
    """One output and its prior: a_s, a_d; mean (m_s, m_d, n_s, n_d); precision, 1 / variances of these; skip c and beta.

    `side` is the sign of e on one side of the line where e = 0, for c < 1, and 0 for the whole plane of u.
    """

    a_s: float
    a_d: float
    mean: np.ndarray
    precision: np.ndarray
    skip: float
    beta: float
    side: float


class Lattice(NamedTuple):
    """Points u_1, u_2 and attention weights s_1, s_2 along both directions, (size,); log_weight (size, size), the log-density."""

    u_1: np.ndarray
    s_1: np.ndarray
    u_2: np.ndarray
    s_2: np.ndarray
    log_weight: np.ndarray


@njit(fastmath=FAST, error_model="numpy", inline="always")
def raw_scores(s_1, s_2, skip, a_s, a_d):
    """(v_s, v_d, 1/e) given the weights s_1, s_2 of layer 1, the scores a_s, a_d and the skip c.

    Beyond |1/e| = 1e9 the density is zero anyway.
    """
    e = skip + (s_1 + s_2 - 1.0)
    e = e if abs(e) > 1e-9 else 1e-9
    inverse = 1.0 / e
    v_s = a_s * inverse * inverse
    return v_s, (a_d * inverse + (s_2 - s_1) * v_s) / (skip + 1.0), inverse


@njit
def empty_lattice(size):
    """A lattice of `size` nodes per direction, not yet filled."""
    return Lattice(np.empty(size), np.empty(size), np.empty(size), np.empty(size), np.empty((size, size)))


@njit(fastmath=FAST, error_model="numpy")
def _axis(centre, half, beta, u, s):
    """Lattice points and attention weights along one direction."""
    step = 2.0 * half / u.size
    for i in range(u.size):
        u[i] = centre - half + (i + 0.5) * step
        s[i] = 1.0 / (1.0 + exp(-beta * u[i]))


@njit(fastmath=FAST, error_model="numpy")
def _fill_plane(output, box, lattice):
    """Writes the lattice of a box (centre_1, centre_2, half_1, half_2); returns the largest log of the density."""
    _axis(box[CENTRE_1], box[HALF_1], output.beta, lattice.u_1, lattice.s_1)
    _axis(box[CENTRE_2], box[HALF_2], output.beta, lattice.u_2, lattice.s_2)
    # Local copies: the compiler vectorises only if it can prove that an array does not overlap with the written one.
    u_1, s_1, u_2, s_2, log_weight = lattice
    a_s, a_d, skip = output.a_s, output.a_d, output.skip
    m_s, m_d, n_s, n_d = output.mean[0], output.mean[1], output.mean[2], output.mean[3]
    p_s, p_d, q_s, q_d = output.precision[0], output.precision[1], output.precision[2], output.precision[3]
    best = -1e300
    for i in range(u_1.size):
        row = log_weight[i]
        x, s = u_1[i], s_1[i]
        for j in range(u_2.size):
            v_s, v_d, inverse = raw_scores(s, s_2[j], skip, a_s, a_d)
            x_s = x + u_2[j] - m_s
            x_d = x - u_2[j] - m_d
            y_s = v_s - n_s
            y_d = v_d - n_d
            square = p_s * x_s * x_s + p_d * x_d * x_d + q_s * y_s * y_s + q_d * y_d * y_d
            row[j] = 3.0 * log(abs(inverse)) - 0.5 * square
        # Two separate loops, because the compiler vectorises no common loop.
        for j in range(u_2.size):
            best = max(best, row[j])
    return best


@njit(error_model="numpy")
def fill(output, box, lattice):
    """Writes the lattice of a box, in (u_1, u_2) or on one side of the line; returns the largest log of the density."""
    return _fill_plane(output, box, lattice) if output.side == 0.0 else fill_side(output, box, lattice)


@njit(fastmath=FAST, error_model="numpy")
def _shape(lattice, best, power):
    """(nodes that share the weight, means of u_1 and u_2, standard deviations) of the weights to a power."""
    u_1, _, u_2, _, log_weight = lattice
    total = squares = first = second = first_2 = second_2 = 0.0
    for i in range(u_1.size):
        x = u_1[i] - u_1[0]
        z = zz = y_1 = y_2 = 0.0
        row = log_weight[i]
        for j in range(u_2.size):
            w = exp(power * (row[j] - best))
            y = u_2[j] - u_2[0]
            z += w
            zz += w * w
            y_1 += w * y
            y_2 += w * y * y
        total += z
        squares += zz
        first += z * x
        first_2 += z * x * x
        second += y_1
        second_2 += y_2
    first /= total
    second /= total
    # A single node has no width: take that of a step.
    width_1 = math.sqrt(max(first_2 / total - first * first, (u_1[1] - u_1[0]) ** 2))
    width_2 = math.sqrt(max(second_2 / total - second * second, (u_2[1] - u_2[0]) ** 2))
    return total * total / squares, u_1[0] + first, u_2[0] + second, width_1, width_2


@njit(error_model="numpy")
def zoom(output, box, lattice):
    """Shrinks the box to the density; fills the lattice of the last box and returns the largest log of the density."""
    best = fill(output, box, lattice)
    for _ in range(ZOOMS):
        power = POWER
        shared, c_1, c_2, w_1, w_2 = _shape(lattice, best, power)
        while shared < SHARED and power > 1e-9:
            power *= 0.5
            shared, c_1, c_2, w_1, w_2 = _shape(lattice, best, power)
        if power == POWER and ZOOM * w_1 >= GAIN * box[HALF_1] and ZOOM * w_2 >= GAIN * box[HALF_2]:
            break
        box[CENTRE_1], box[CENTRE_2] = c_1, c_2
        box[HALF_1], box[HALF_2] = min(box[HALF_1], ZOOM * w_1), min(box[HALF_2], ZOOM * w_2)
        best = fill(output, box, lattice)
    return best
