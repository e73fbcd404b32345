"""Losses l(y, z) of the student's fields with gradient and Hessian.

Every loss is a compiled function

    loss(y, z, parameters, gradient, hessian, table) -> value

of an output y (K,), fields z (P M,) (rows after each other) and parameters (the entry OUTPUT_LOSS selects the loss of the output;
the others belong to the student). It writes gradient (P M,) and hessian (P M, P M). `table` is work space for jets.
The gradients and Hessians are derived in this module.
"""

import math

import numpy as np
from numba import types

from attention_limits.numerics.compiled import njit
from attention_limits.sequence_multi_index.erm.kernels.jet_kernels import BETA, attention, polynomial, sigmoid

ONE, TWO, THREE = (types.Array(types.float64, axes, "C") for axes in (1, 2, 3))
# Type of a loss: the functions of many outputs call it by its address, so that they compile once for all losses.
LOSS = types.float64(ONE, ONE, ONE, ONE, TWO, TWO)
SQUARE, LOGISTIC, HINGE, CROSS_ENTROPY = range(4)
# Before the parameters of the student: the loss of the output, its scale, and the number of tokens.
OUTPUT_LOSS, SCALE, LOSS_TOKENS, STUDENT = range(4)


@njit(error_model="numpy")
def linear(y, z, parameters, gradient, hessian, table):
    """The student's output is its fields: square 1/2 |y - z|^2, logistic log(1 + exp(-y z)), hinge max(0, 1 - y z), or the
    cross-entropy of y with the softmax over rows, sum over tokens. The Hessian of the hinge is zero, its kink left out."""
    kind, scale = parameters[OUTPUT_LOSS], parameters[SCALE]
    n = z.size
    value = 0.0
    for i in range(n):
        for j in range(n):
            hessian[i, j] = 0.0
    if kind == SQUARE:
        for i in range(n):
            gradient[i] = scale * (z[i] - y[i])
            hessian[i, i] = scale
            value += 0.5 * scale * (z[i] - y[i]) ** 2
    elif kind == LOGISTIC:
        margin = y[0] * z[0]
        wrong = sigmoid(-margin)
        gradient[0] = -scale * y[0] * wrong
        hessian[0, 0] = scale * y[0] ** 2 * wrong * (1.0 - wrong)
        value = scale * (math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0))
    elif kind == HINGE:
        margin = y[0] * z[0]
        gradient[0] = -scale * y[0] if margin < 1.0 else 0.0
        value = scale * max(0.0, 1.0 - margin)
    else:
        tokens = int(parameters[LOSS_TOKENS])
        rows = n // tokens
        for a in range(tokens):
            largest = -1e300
            for p in range(rows):
                largest = max(largest, z[p * tokens + a])
            total = 0.0
            for p in range(rows):
                total += math.exp(z[p * tokens + a] - largest)
            for p in range(rows):
                i = p * tokens + a
                weight = math.exp(z[i] - largest) / total
                gradient[i] = scale * (weight - y[i])
                value += scale * y[i] * (largest + math.log(total) - z[i])
                hessian[i, i] += scale * weight
                for r in range(rows):
                    j = r * tokens + a
                    hessian[i, j] -= scale * weight * math.exp(z[j] - largest) / total
    return value


@njit(error_model="numpy")
def _of_output(y, first, parameters, gradient, hessian, table):
    """Square or logistic loss of the output whose jets begin at the slot `first`."""
    n = gradient.size
    scale, logistic = parameters[SCALE], parameters[OUTPUT_LOSS] == LOGISTIC
    value = 0.0
    for i in range(n):
        gradient[i] = 0.0
        for j in range(n):
            hessian[i, j] = 0.0
    for k in range(y.size):
        jet = first + k
        if logistic:
            margin = y[k] * table[jet, 0]
            wrong = sigmoid(-margin)
            slope = -scale * y[k] * wrong
            curvature = scale * y[k] ** 2 * wrong * (1.0 - wrong)
            value += scale * (math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0))
        else:
            difference = table[jet, 0] - y[k]
            slope, curvature = scale * difference, scale
            value += 0.5 * scale * difference**2
        place = 1 + n
        for i in range(n):
            gradient[i] += slope * table[jet, 1 + i]
            for j in range(i + 1):
                hessian[i, j] += slope * table[jet, place] + curvature * table[jet, 1 + i] * table[jet, 1 + j]
                place += 1
    for i in range(n):
        for j in range(i):
            hessian[j, i] = hessian[i, j]
    return value


@njit(error_model="numpy")
def of_attention(y, z, parameters, gradient, hessian, table):
    """Loss of the output of attention layers, y (M^2,)."""
    first = attention(z, parameters, STUDENT, table)
    return _of_output(y, first, parameters, gradient, hessian, table)


@njit(error_model="numpy")
def of_two_tokens(y, z, parameters, gradient, hessian, table):
    """Square loss of one tied softmax layer that reads two tokens, y (4,), as `of_attention` without jets.

    s_aa = 1 / (1 + exp(-beta z_a (z_a - z_b))), s_ab = 1 - s_aa.
    """
    scale, beta = parameters[SCALE], parameters[STUDENT + BETA]
    value = 0.0
    for i in range(2):
        gradient[i] = 0.0
        for j in range(2):
            hessian[i, j] = 0.0
    for a in range(2):
        b = 1 - a
        score = beta * z[a] * (z[a] - z[b])
        weight, other = sigmoid(score), sigmoid(-score)
        own, crossed = weight - y[3 * a], other - y[1 + a]
        value += 0.5 * scale * (own * own + crossed * crossed)
        slope = weight * other
        first = scale * (own - crossed) * slope
        second = scale * (2.0 * slope * slope + (own - crossed) * slope * (other - weight))
        along_a, along_b = beta * (2.0 * z[a] - z[b]), -beta * z[a]
        gradient[a] += first * along_a
        gradient[b] += first * along_b
        hessian[a, a] += second * along_a * along_a + 2.0 * beta * first
        hessian[b, b] += second * along_b * along_b
        hessian[0, 1] += second * along_a * along_b - beta * first
    hessian[1, 0] = hessian[0, 1]
    return value


@njit(error_model="numpy")
def of_polynomial(y, z, parameters, gradient, hessian, table):
    """Loss of a product of powers of the fields, or of the sum of their squares, y (1,)."""
    first = polynomial(z, parameters, STUDENT, table)
    return _of_output(y, first, parameters, gradient, hessian, table)


def values_of(loss, outputs, fields, parameters, slots):
    """A loss (N,) and its gradient (N, n) at outputs (N, K) and fields (N, n); `slots` jets fit into its table."""
    count, n = fields.shape
    table = np.zeros((slots, 1 + n + n * (n + 1) // 2))
    value, gradient, hessian = np.zeros(count), np.zeros((count, n)), np.zeros((n, n))
    for k in range(count):
        value[k] = loss(outputs[k], fields[k], parameters, gradient[k], hessian, table)
    return value, gradient


def hessians_of(loss, outputs, fields, parameters, slots):
    """The Hessians (N, n, n) of a loss at outputs (N, K) and fields (N, n); parameters and slots as for `values_of`."""
    count, n = fields.shape
    table = np.zeros((slots, 1 + n + n * (n + 1) // 2))
    gradient, hessian = np.zeros(n), np.zeros((count, n, n))
    for k in range(count):
        loss(outputs[k], fields[k], parameters, gradient, hessian[k], table)
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
