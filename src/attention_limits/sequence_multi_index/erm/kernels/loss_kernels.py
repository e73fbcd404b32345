"""Losses l(y, z) of the student's fields with gradient and Hessian, of many points side by side.

Every loss is a compiled function

    loss(y, z, parameters, found, table, size)

of the first `size` points (a multiple of eight) in outputs y (K, LANES) and fields z (P M, LANES), rows after each other, and of
parameters (the entry OUTPUT_LOSS selects the loss of the output; the others belong to the student). It writes the jet found
(1 + n + n (n + 1) / 2, LANES), n = P M: value, gradient, and the Hessian's lower triangle by rows. `table` is work space for
jets of eight points. The gradients and Hessians are derived in this module.
"""

import math

import numpy as np
from numba import types

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd.float64_lanes import WIDTH, exp, full, less, load, maximum, store, where, with_sign
from attention_limits.numerics.tracing.elementary import JET, LANES
from attention_limits.sequence_multi_index.erm.kernels.jet_kernels import (
    BETA,
    attention,
    parts,
    polynomial,
    row_of,
    sigmoids,
)

ONE, TWO, THREE = (types.Array(types.float64, axes, "C") for axes in (1, 2, 3))
# Type of a loss: the functions of many outputs call it by its address, so that they compile once for all losses.
LOSS = JET
SQUARE, LOGISTIC, HINGE, CROSS_ENTROPY = range(4)
# Before the parameters of the student: the loss of the output, its scale, and the number of tokens.
OUTPUT_LOSS, SCALE, LOSS_TOKENS, STUDENT = range(4)


@njit(error_model="numpy")
def _logistic(margin):
    """log(1 + exp(-margin)) of lanes, and minus its derivative."""
    wrong, _ = sigmoids(-1.0 * margin)
    return math.log1p(exp(-1.0 * with_sign(margin, 1.0))) + maximum(-1.0 * margin, 0.0), wrong


@njit(error_model="numpy")
def _clear(found, block):
    for row in range(found.shape[0]):
        store(found, row_of(row, block), full(0.0))


@njit(error_model="numpy")
def linear(y, z, parameters, found, table, size):
    """The student's output is its fields: square 1/2 |y - z|^2, logistic log(1 + exp(-y z)), hinge max(0, 1 - y z), or the
    cross-entropy of y with the softmax over rows, sum over tokens. The Hessian of the hinge is zero, its kink left out."""
    kind, scale = parameters[OUTPUT_LOSS], parameters[SCALE]
    n = z.shape[0]
    for block in range(size // WIDTH):
        _clear(found, block)
        value = full(0.0)
        if kind == SQUARE:
            place = 1 + n
            for i in range(n):
                difference = load(z, row_of(i, block)) - load(y, row_of(i, block))
                store(found, row_of(1 + i, block), scale * difference)
                place += i
                store(found, row_of(place, block), full(scale))
                place += 1
                value = value + 0.5 * scale * difference * difference
        elif kind == LOGISTIC:
            label = load(y, block)
            value, wrong = _logistic(label * load(z, block))
            value = scale * value
            store(found, row_of(1, block), -scale * label * wrong)
            store(found, row_of(2, block), scale * label * label * wrong * (1.0 - wrong))
        elif kind == HINGE:
            label = load(y, block)
            margin = label * load(z, block)
            store(found, row_of(1, block), where(less(margin, 1.0), -scale * label, 0.0))
            value = scale * maximum(1.0 - margin, 0.0)
        else:
            tokens = int(parameters[LOSS_TOKENS])
            rows = n // tokens
            for a in range(tokens):
                largest = full(-1e300)
                for p in range(rows):
                    largest = maximum(largest, load(z, row_of(p * tokens + a, block)))
                total = full(0.0)
                for p in range(rows):
                    total = total + exp(load(z, row_of(p * tokens + a, block)) - largest)
                evidence = largest + math.log(total)
                for p in range(rows):
                    i = p * tokens + a
                    field, label = load(z, row_of(i, block)), load(y, row_of(i, block))
                    weight = exp(field - largest) / total
                    store(found, row_of(1 + i, block), scale * (weight - label))
                    value = value + scale * label * (evidence - field)
                    first = 1 + n + i * (i + 1) // 2
                    for r in range(p + 1):
                        j = r * tokens + a
                        other = exp(load(z, row_of(j, block)) - largest) / total
                        own = 1.0 if r == p else 0.0
                        store(found, row_of(first + j, block), scale * weight * (own - other))
        store(found, block, value)


@njit(error_model="numpy")
def _of_output(y, first, parameters, found, table, block, n):
    """Square or logistic loss, in a `block` of `found`, of the output whose jets of n variables begin at the slot `first`."""
    scale, logistic = parameters[SCALE], parameters[OUTPUT_LOSS] == LOGISTIC
    length = parts(n)
    _clear(found, block)
    value = full(0.0)
    for k in range(y.shape[0]):
        jet = (first + k) * length
        label, output = load(y, row_of(k, block)), load(table, jet)
        if logistic:
            added, wrong = _logistic(label * output)
            value = value + scale * added
            slope = -scale * label * wrong
            curvature = scale * label * label * wrong * (1.0 - wrong)
        else:
            difference = output - label
            value = value + 0.5 * scale * difference * difference
            slope, curvature = scale * difference, full(scale)
        place = 1 + n
        for i in range(n):
            along = load(table, jet + 1 + i)
            row = row_of(1 + i, block)
            store(found, row, load(found, row) + slope * along)
            bent = curvature * along
            for j in range(i + 1):
                row = row_of(place, block)
                store(found, row, load(found, row) + slope * load(table, jet + place) + bent * load(table, jet + 1 + j))
                place += 1
    store(found, block, value)


@njit(error_model="numpy")
def of_attention(y, z, parameters, found, table, size):
    """Loss of the output of attention layers, y (M^2, LANES)."""
    for block in range(size // WIDTH):
        first = attention(z, block, parameters, STUDENT, table)
        _of_output(y, first, parameters, found, table, block, z.shape[0])


@njit(error_model="numpy")
def of_two_tokens(y, z, parameters, found, table, size):
    """Square loss of one tied softmax layer that reads two tokens, y (4, LANES), as `of_attention` without jets.

    s_aa = 1 / (1 + exp(-beta z_a (z_a - z_b))), s_ab = 1 - s_aa.
    """
    scale, beta = parameters[SCALE], parameters[STUDENT + BETA]
    for block in range(size // WIDTH):
        z_0, z_1 = load(z, row_of(0, block)), load(z, row_of(1, block))
        # The first row of attention, then the second one.
        value_0, own_0, other_0, twice_0, mixed_0, square_0 = _row_of_two(
            z_0, z_1, load(y, row_of(0, block)), load(y, row_of(1, block)), scale, beta
        )
        value_1, own_1, other_1, twice_1, mixed_1, square_1 = _row_of_two(
            z_1, z_0, load(y, row_of(3, block)), load(y, row_of(2, block)), scale, beta
        )
        store(found, row_of(0, block), value_0 + value_1)
        store(found, row_of(1, block), own_0 + other_1)
        store(found, row_of(2, block), own_1 + other_0)
        store(found, row_of(3, block), twice_0 + square_1)
        store(found, row_of(4, block), mixed_0 + mixed_1)
        store(found, row_of(5, block), twice_1 + square_0)


@njit(error_model="numpy", inline="always")
def _row_of_two(z_a, z_b, own, crossed, scale, beta):
    """The share of token a in `of_two_tokens`, where `own` is y_aa and `crossed` y_ab: value, its derivatives along z_a and z_b,
    and its second ones along aa, ab and bb."""
    difference = z_a - z_b
    weight, other = sigmoids(beta * z_a * difference)
    own, crossed = weight - own, other - crossed
    value = 0.5 * scale * (own * own + crossed * crossed)
    slope, apart = weight * other, own - crossed
    first = scale * apart * slope
    second = scale * slope * (2.0 * slope + apart * (other - weight))
    along_a, along_b = beta * (z_a + difference), -beta * z_a
    bent = second * along_a
    return (
        value, first * along_a, first * along_b, bent * along_a + 2.0 * beta * first, bent * along_b - beta * first,
        second * along_b * along_b,
    )  # fmt: skip


@njit(error_model="numpy")
def of_polynomial(y, z, parameters, found, table, size):
    """Loss of a product of powers of the fields, or of the sum of their squares, y (1, LANES)."""
    for block in range(size // WIDTH):
        first = polynomial(z, block, parameters, STUDENT, table)
        _of_output(y, first, parameters, found, table, block, z.shape[0])


@njit(error_model="numpy", cache=False)
def _evaluate(loss, outputs, fields, parameters, rows, first, y, z, found, table):
    """The loss at the points first, ..., into `found`; the arguments are those of `values_of`. Returns their number."""
    size = min(LANES, len(fields) - first)
    padded = -(-size // WIDTH) * WIDTH
    for lane in range(padded):
        # Copies of the last point fill the last eight.
        k = first + min(lane, size - 1)
        for i in range(outputs.shape[1]):
            y[i, lane] = outputs[k, i]
        for i in range(fields.shape[1]):
            z[i, lane] = fields[k, i]
    loss(y, z, parameters, found, table, padded)
    return size


def values_of(loss, outputs, fields, parameters, rows):
    """A loss (N,) and its gradient (N, n) at outputs (N, K) and fields (N, n); its table has `rows` rows."""
    count, n = fields.shape
    y, z, found = np.zeros((outputs.shape[1], LANES)), np.zeros((n, LANES)), np.zeros((parts(n), LANES))
    table = np.zeros((rows, WIDTH))
    value, gradient = np.zeros(count), np.zeros((count, n))
    for first in range(0, count, LANES):
        for lane in range(_evaluate(loss, outputs, fields, parameters, rows, first, y, z, found, table)):
            value[first + lane] = found[0, lane]
            for i in range(n):
                gradient[first + lane, i] = found[1 + i, lane]
    return value, gradient


def hessians_of(loss, outputs, fields, parameters, rows):
    """The Hessians (N, n, n) of a loss at outputs (N, K) and fields (N, n); parameters and rows as for `values_of`."""
    count, n = fields.shape
    y, z, found = np.zeros((outputs.shape[1], LANES)), np.zeros((n, LANES)), np.zeros((parts(n), LANES))
    table = np.zeros((rows, WIDTH))
    hessian = np.zeros((count, n, n))
    for first in range(0, count, LANES):
        for lane in range(_evaluate(loss, outputs, fields, parameters, rows, first, y, z, found, table)):
            place = 1 + n
            for i in range(n):
                for j in range(i + 1):
                    hessian[first + lane, i, j] = hessian[first + lane, j, i] = found[place, lane]
                    place += 1
    return hessian


_ARGUMENTS = types.FunctionType(LOSS), TWO, TWO, ONE, types.intp


def make_values():
    """`values_of` for every loss of the type LOSS."""
    return njit(signature_or_function=types.Tuple([ONE, TWO])(*_ARGUMENTS), error_model="numpy")(values_of)


def make_hessians():
    """`hessians_of` for every loss of the type LOSS."""
    return njit(signature_or_function=THREE(*_ARGUMENTS), error_model="numpy")(hessians_of)


@njit(error_model="numpy")
def hinge_prox(y, omega, variance):
    """The results of `prox_kernels.prox` for max(0, 1 - y z) of one field, in closed form (derived).

    y (N, 1) of +-1, omega (N, 1), V the number `variance`. The last result is true everywhere.
    """
    count = len(omega)
    point, slope, jacobian = np.zeros((count, 1)), np.zeros((count, 1)), np.zeros((count, 1, 1))
    envelope, plain = np.zeros(count), np.zeros(count)
    for k in range(count):
        margin = y[k, 0] * omega[k, 0]
        if margin >= 1.0:
            shift = 0.0
        elif margin <= 1.0 - variance:
            shift = variance
        else:
            shift = 1.0 - margin
            jacobian[k, 0, 0] = -1.0 / variance
        point[k, 0] = omega[k, 0] + y[k, 0] * shift
        slope[k, 0] = y[k, 0] * shift / variance
        plain[k] = max(0.0, 1.0 - margin - shift)
        envelope[k] = plain[k] + 0.5 * shift**2 / variance
    return point, slope, jacobian, envelope, plain, np.ones(count, dtype=np.bool_)
