"""Integrand of the public program of Troiani et al. 2025 (arXiv:2502.00901) for two layers and tokens, and its adaptive cubature.

With the fields h (2, 2) and their prior N(omega, V) of each token, V diagonal, the weight of the fields z of layer 1 is

    w = sum over both signs of exp(-tr (h - omega)^T V^-1 (h - omega) / 2) / |det B_1|,   h = (z, +- B_1^-T u),

without the norm of the Gaussian, and the denoiser is the ratio of the integrals of V^-1 (h - omega) w and of w. The cubature has
the rules of degree 7 and 5 of Genz and Malik (1980) and halves the region of the largest error, along the side of the largest
fourth difference, until the sum of the errors is small (Berntsen, Espelid and Genz 1991).
"""

import math

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd.float64_lanes import WIDTH, exp, load, store, with_sign

# Nodes of the rule, in units of half of the width of a region: inner and outer ones on the axes, and corners.
_INNER, _OUTER, _CORNER = math.sqrt(9.0 / 70.0), math.sqrt(9.0 / 10.0), math.sqrt(9.0 / 19.0)
# Weights in two dimensions: centre, inner, outer, pairs of outer, corners; of degree 7, then of degree 5 (without corners).
_SEVEN = (-3816.0 / 19683.0, 980.0 / 6561.0, 1020.0 / 19683.0, 200.0 / 19683.0, 6859.0 / 78732.0)
_FIVE = (-971.0 / 729.0, 245.0 / 486.0, 65.0 / 1458.0, 25.0 / 729.0)
_RATIO = (_INNER / _OUTER) ** 2
# The nodes beside the centre in two groups, (group, side, 1, WIDTH): inner and outer ones on the axes; pairs and corners.
_BOTH, _NONE = [1.0, -1.0], [0.0, 0.0]
OFFSETS = np.array(
    [
        [_INNER * np.array(_BOTH + _NONE + _NONE + _NONE) + _OUTER * np.array(_NONE + _NONE + _BOTH + _NONE)],
        [_INNER * np.array(_NONE + _BOTH + _NONE + _NONE) + _OUTER * np.array(_NONE + _NONE + _NONE + _BOTH)],
        [np.repeat([_OUTER, _CORNER], 4) * [1, 1, -1, -1, 1, 1, -1, -1]],
        [np.repeat([_OUTER, _CORNER], 4) * [1, -1, 1, -1, 1, -1, 1, -1]],
    ]
).reshape(2, 2, 1, WIDTH)
SECOND_LANE = np.eye(WIDTH)[1:2]


@njit
def weight_at(first, second, u_1, u_2, omega_11, omega_12, omega_21, omega_22, v_1, v_2, skip, beta):
    """w and the four components of V^-1 (h - omega) w, layer by layer; numbers, or lanes if `first` and `second` are lanes.

    Parameters
    ----------
    first, second : float
        Fields z of layer 1.
    u_1, u_2 : float
        Score root.
    omega_11, omega_12, omega_21, omega_22 : float
        omega_la of layer l and token a.
    v_1, v_2 : float
        Diagonal of V.
    skip, beta : float
    """
    s_12 = 1.0 / (1.0 + exp(beta * first * (first - second)))
    s_21 = 1.0 / (1.0 + exp(beta * second * (second - first)))
    a, d = 1.0 + skip - s_12, 1.0 + skip - s_21
    inverse, to_1, to_2 = 1.0 / (a * d - s_12 * s_21), 1.0 / v_1, 1.0 / v_2
    last_1, last_2 = (d * u_1 - s_12 * u_2) * inverse, (a * u_2 - s_21 * u_1) * inverse
    x_1, x_2 = first - omega_11, second - omega_12
    own = (x_1 * x_1 + x_2 * x_2) * to_1
    plus_1, plus_2, minus_1, minus_2 = last_1 - omega_21, last_2 - omega_22, last_1 + omega_21, last_2 + omega_22
    scale = with_sign(inverse, 1.0)
    plus = exp(-0.5 * (own + (plus_1 * plus_1 + plus_2 * plus_2) * to_2)) * scale
    minus = exp(-0.5 * (own + (minus_1 * minus_1 + minus_2 * minus_2) * to_2)) * scale
    both = plus + minus
    return (
        both,
        both * x_1 * to_1,
        both * x_2 * to_1,
        (plus * plus_1 - minus * minus_1) * to_2,
        (plus * plus_2 - minus * minus_2) * to_2,
    )


@njit(inline="always")
def _store_weights(first, second, p, found, row):
    """Write the components of V^-1 (h - omega) w at lanes of fields into `found` (4, 5, WIDTH) at `row`; p are the further
    arguments of `weight_at`."""
    _, g_1, g_2, g_3, g_4 = weight_at(first, second, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9])
    store(found[0], row, g_1)
    store(found[1], row, g_2)
    store(found[2], row, g_3)
    store(found[3], row, g_4)


@njit
def _rules(boxes, first, second, p, found, values, errors, sides):
    """Integrals (regions, 4) over the regions `first` and `second`, and their errors; writes the side of each to halve.

    `boxes` (regions, 4) hold x, y, half width and half height; `found` (4, 5, WIDTH) is a work space.
    """
    for number, region in enumerate((first, second)):
        x, y, width, height = boxes[region, 0], boxes[region, 1], boxes[region, 2], boxes[region, 3]
        for group in range(2):
            across, along = load(OFFSETS[group, 0], 0), load(OFFSETS[group, 1], 0)
            _store_weights(x + width * across, y + height * along, p, found, 2 * number + group)
    # The first lane of the last group is the centre of the first region, the second lane that of the second one.
    is_second = load(SECOND_LANE, 0)
    x_1, x_2, y_1, y_2 = boxes[first, 0], boxes[second, 0], boxes[first, 1], boxes[second, 1]
    _store_weights(x_1 + (x_2 - x_1) * is_second, y_1 + (y_2 - y_1) * is_second, p, found, 4)
    for number, region in enumerate((first, second)):
        area, along_x, along_y = 4.0 * boxes[region, 2] * boxes[region, 3], 0.0, 0.0
        for j in range(4):
            axes, rest, centre = found[j, 2 * number], found[j, 2 * number + 1], found[j, 4, number]
            x_inner, y_inner, x_outer, y_outer = (
                axes[0] + axes[1],
                axes[2] + axes[3],
                axes[4] + axes[5],
                axes[6] + axes[7],
            )
            pairs, corners = rest[0] + rest[1] + rest[2] + rest[3], rest[4] + rest[5] + rest[6] + rest[7]
            inner, outer = x_inner + y_inner, x_outer + y_outer
            seven = _SEVEN[0] * centre + _SEVEN[1] * inner + _SEVEN[2] * outer + _SEVEN[3] * pairs + _SEVEN[4] * corners
            five = _FIVE[0] * centre + _FIVE[1] * inner + _FIVE[2] * outer + _FIVE[3] * pairs
            values[region, j] = area * seven
            errors[region, j] = area * abs(seven - five)
            along_x += abs(x_inner - 2.0 * centre - _RATIO * (x_outer - 2.0 * centre))
            along_y += abs(y_inner - 2.0 * centre - _RATIO * (y_outer - 2.0 * centre))
        sides[region] = 1 if along_y > along_x else 0


@njit
def adaptive_numerator(reach, tolerance, boxes, parameters, result):
    """Integral of V^-1 (h - omega) w over [-reach, reach]^2 by adaptive cubature.

    Parameters
    ----------
    reach : float
        Half of the width of the square about zero.
    tolerance : float
        Largest absolute error of each component, or relative error where that is larger.
    boxes : array (regions, 4)
        Work space; its length is the largest number of regions.
    parameters : array (10,)
        Arguments of `weight_at` from u_1 on.
    result : array (2, 2)
        The integral, (layer, token).

    Returns
    -------
    regions : int
        Number of regions.
    met : bool
        Whether the errors met the tolerance. A rule whose nodes all miss a narrow weight sees no error.
    """
    most = len(boxes)
    values, errors, found = np.empty((most, 4)), np.empty((most, 4)), np.empty((4, 5, WIDTH))
    sides, keys, heap = np.empty(most, np.int64), np.empty(most), np.empty(most, np.int64)
    boxes[0] = 0.0, 0.0, reach, reach
    _rules(boxes, 0, 0, parameters, found, values, errors, sides)
    keys[0], heap[0], count = errors[0].max(), 0, 1
    total, error = values[0].copy(), errors[0].copy()
    while True:
        met = True
        for j in range(4):
            met = met and (error[j] <= tolerance or error[j] <= tolerance * abs(total[j]))
        if met or count == most:
            result[:] = total.reshape(2, 2)
            return count, met
        worst, new = heap[0], count
        side, count = sides[worst], count + 1
        boxes[worst, 2 + side] *= 0.5
        boxes[new] = boxes[worst]
        boxes[worst, side] -= boxes[worst, 2 + side]
        boxes[new, side] += boxes[worst, 2 + side]
        for j in range(4):
            total[j] -= values[worst, j]
            error[j] -= errors[worst, j]
        _rules(boxes, worst, new, parameters, found, values, errors, sides)
        for k in (worst, new):
            keys[k] = errors[k].max()
            for j in range(4):
                total[j] += values[k, j]
                error[j] += errors[k, j]
        _sink(heap, keys, new)
        _rise(heap, keys, new)


@njit
def _sink(heap, keys, count):
    """Restore the heap of the first `count` indices, largest key first, after the key of its top changed."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= count:
            return
        if child + 1 < count and keys[heap[child + 1]] > keys[heap[child]]:
            child += 1
        if keys[heap[child]] <= keys[heap[place]]:
            return
        heap[place], heap[child] = heap[child], heap[place]
        place = child


@njit
def _rise(heap, keys, new):
    """Add the index `new` to the heap of the indices below it."""
    place = new
    heap[place] = new
    while place > 0:
        parent = (place - 1) // 2
        if keys[heap[parent]] >= keys[heap[place]]:
            return
        heap[place], heap[parent] = heap[parent], heap[place]
        place = parent
