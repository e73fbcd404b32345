"""Gradient descent on the squared loss of softmax layers of rank one that read two tokens, in single precision.

The model and the loss are those of `gradient_descent` (Figure 2 of Troiani et al. 2025, arXiv:2502.00901); the derivatives are
derived here. A step reads each sequence twice: for its fields h = W x / sqrt(D), and for the gradient dh x^T. In between, the
layers are passed forward and backward for GROUP sequences side by side. In sum s and difference d over the two tokens, a layer
maps the fields of the later layers by

    d <- kappa d,   s <- (1 + c) s - tau d,   kappa = c + 1 - S_12 - S_21,   tau = S_12 - S_21

(`fibre_kernels`), with S_12 = e_1 / (1 + e_1), e_1 = exp(-beta d (s + d) / 2), and S_21 = e_2 / (1 + e_2),
e_2 = exp(beta d (s - d) / 2), of the fields that the layer reads. Rows are padded to an even number with zeros.
"""

import math

import numpy as np
from numba import prange

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.fast_math import exp_single

# Sequences whose layers are computed side by side, and whose products with the weights are taken together.
GROUP, TOGETHER = 64, 4
# Exponents are cut here, where the softmax is 1 to all digits.
_LARGEST_EXPONENT = np.float32(40.0)
_FAST = {"nnan", "nsz", "arcp", "contract", "reassoc"}
_ZERO, _HALF, _ONE, _TWO = (np.float32(x) for x in (0, 0.5, 1, 2))


@njit(fastmath=_FAST, error_model="numpy")
def _read(upper, lower, x, h, n, row):
    """h[row, a, n] = upper . x_a and h[row + 1, a, n] = lower . x_a of a sequence x (2, D)."""
    one, two = x[0], x[1]
    a = b = c = d = _ZERO
    for k in range(len(upper)):
        a += upper[k] * one[k]
        b += upper[k] * two[k]
        c += lower[k] * one[k]
        d += lower[k] * two[k]
    h[row, 0, n], h[row, 1, n], h[row + 1, 0, n], h[row + 1, 1, n] = a, b, c, d


@njit(fastmath=_FAST, error_model="numpy")
def _spread(x, y, z, w, h, n, row, upper, lower):
    """Add sum_a h[row, a, m] x_a to upper, and that of row + 1 to lower, of sequences m = n, ..., n + 3 (2, D)."""
    x_1, x_2, y_1, y_2, z_1, z_2, w_1, w_2 = x[0], x[1], y[0], y[1], z[0], z[1], w[0], w[1]
    first, second = h[row], h[row + 1]
    a_1, a_2, b_1, b_2 = first[0, n], first[1, n], first[0, n + 1], first[1, n + 1]
    c_1, c_2, d_1, d_2 = first[0, n + 2], first[1, n + 2], first[0, n + 3], first[1, n + 3]
    e_1, e_2, f_1, f_2 = second[0, n], second[1, n], second[0, n + 1], second[1, n + 1]
    g_1, g_2, i_1, i_2 = second[0, n + 2], second[1, n + 2], second[0, n + 3], second[1, n + 3]
    for k in range(len(upper)):
        upper[k] += (a_1 * x_1[k] + a_2 * x_2[k] + b_1 * y_1[k] + b_2 * y_2[k]) + (
            c_1 * z_1[k] + c_2 * z_2[k] + d_1 * w_1[k] + d_2 * w_2[k]
        )
        lower[k] += (e_1 * x_1[k] + e_2 * x_2[k] + f_1 * y_1[k] + f_2 * y_2[k]) + (
            g_1 * z_1[k] + g_2 * z_2[k] + i_1 * w_1[k] + i_2 * w_2[k]
        )


@njit(fastmath=_FAST, error_model="numpy")
def _to_sums(h, scale):
    """Replace the fields of two tokens h (2, GROUP) by scale times their sum and difference."""
    for n in range(GROUP):
        one, two = scale * h[0, n], scale * h[1, n]
        h[0, n] = one + two
        h[1, n] = one - two


@njit(fastmath=_FAST, error_model="numpy")
def _attend(z, beta, s_12, s_21):
    """Write S_12 and S_21 (GROUP,) of the fields z (2, GROUP), sum and difference."""
    for n in range(GROUP):
        s, d = z[0, n], z[1, n]
        e1 = exp_single(max(-_LARGEST_EXPONENT, min(_LARGEST_EXPONENT, -_HALF * beta * d * (s + d))))
        e2 = exp_single(max(-_LARGEST_EXPONENT, min(_LARGEST_EXPONENT, _HALF * beta * d * (s - d))))
        s_12[n] = e1 / (_ONE + e1)
        s_21[n] = e2 / (_ONE + e2)


@njit(fastmath=_FAST, error_model="numpy")
def _attend_back(z, beta, s_12, s_21, d_12, d_21, d_z):
    """Add the gradient of `_attend` to d_z (2, GROUP); d_12 and d_21 are those in S_12 and S_21."""
    for n in range(GROUP):
        s, d = z[0, n], z[1, n]
        one = _HALF * beta * d_12[n] * s_12[n] * (_ONE - s_12[n])
        two = _HALF * beta * d_21[n] * s_21[n] * (_ONE - s_21[n])
        d_z[0, n] += d * (two - one)
        d_z[1, n] += two * (s - _TWO * d) - one * (s + _TWO * d)


@njit(fastmath=_FAST, error_model="numpy")
def _pass_on(fields, skip, s_12, s_21, before):
    """Pass fields (2, GROUP) through a layer; `before` (GROUP,) keeps their difference."""
    for n in range(GROUP):
        d = fields[1, n]
        before[n] = d
        fields[0, n] = (_ONE + skip) * fields[0, n] - (s_12[n] - s_21[n]) * d
        fields[1, n] = (skip + _ONE - s_12[n] - s_21[n]) * d


@njit(fastmath=_FAST, error_model="numpy")
def _pass_back(slope, skip, s_12, s_21, before, d_12, d_21):
    """Replace the gradient `slope` (2, GROUP) behind a layer by that before it; add that in S_12 and S_21 to d_12 and d_21."""
    for n in range(GROUP):
        g_s, g_d = slope[0, n], slope[1, n]
        d_12[n] -= (g_d + g_s) * before[n]
        d_21[n] -= (g_d - g_s) * before[n]
        slope[0, n] = (_ONE + skip) * g_s
        slope[1, n] = (skip + _ONE - s_12[n] - s_21[n]) * g_d - (s_12[n] - s_21[n]) * g_s


@njit(fastmath=_FAST, error_model="numpy")
def _compare(target, s_12, s_21, d_12, d_21):
    """sum ||target - y||^2 of y = [[1 - S_12, S_12], [S_21, 1 - S_21]]; its gradient into d_12 and d_21; target (4, GROUP)."""
    total = _ZERO
    for n in range(GROUP):
        a, b = _ONE - s_12[n] - target[0, n], s_12[n] - target[1, n]
        c, d = s_21[n] - target[2, n], _ONE - s_21[n] - target[3, n]
        total += a * a + b * b + c * c + d * d
        d_12[n] = _TWO * (b - a)
        d_21[n] = _TWO * (c - d)
    return total


@njit(error_model="numpy")
def _layers(h, depth, target, skip, beta, seen, before, slope):
    """Replace the fields h (rows, 2, GROUP), as sums and differences, by the gradient of the loss in them; return the loss.

    target (4, GROUP) is y; seen (depth, 4, GROUP), before (depth, depth, GROUP) and slope (rows, 2, GROUP) are work spaces: S_12,
    S_21 and the gradient in them; the differences that each layer has read.
    """
    for layer in range(depth):
        _attend(h[layer], beta, seen[layer, 0], seen[layer, 1])
        if layer < depth - 1:
            seen[layer, 2:] = _ZERO
            for row in range(layer + 1, depth):
                _pass_on(h[row], skip, seen[layer, 0], seen[layer, 1], before[layer, row])
    last = depth - 1
    loss = _compare(target, seen[last, 0], seen[last, 1], seen[last, 2], seen[last, 3])
    slope[:] = _ZERO
    for layer in range(last, -1, -1):
        own = seen[layer]
        for row in range(layer + 1, depth):
            _pass_back(slope[row], skip, own[0], own[1], before[layer, row], own[2], own[3])
        _attend_back(h[layer], beta, own[0], own[1], own[2], own[3], slope[layer])
    h[:] = slope
    return loss


@njit(error_model="numpy")
def _gradient(weights, depth, sequences, outputs, numbers, skip, beta, work, gradient):
    """Write the gradient (rows, D) of sum ||y - g(h)||^2 over the sequences of these numbers; return the sum."""
    h, target, seen, before, slope = work
    rows, dimension = weights.shape
    scale = np.float32(1.0 / math.sqrt(dimension))
    gradient[:] = _ZERO
    total = 0.0
    for start in range(0, len(numbers), GROUP):
        used = min(GROUP, len(numbers) - start)
        for n in range(used):
            number = numbers[start + n]
            for row in range(0, rows, 2):
                _read(weights[row], weights[row + 1], sequences[number], h, n, row)
            for a in range(2):
                for b in range(2):
                    target[2 * a + b, n] = outputs[number, a, b]
        # Idle places have no tokens, and the output 1/2 of these: they add nothing.
        h[:, :, used:] = _ZERO
        target[:, used:] = _HALF
        for row in range(rows):
            _to_sums(h[row], scale)
        total += _layers(h, depth, target, skip, beta, seen, before, slope)
        for row in range(rows):
            # The derivatives in sum and difference, to those in the two tokens.
            _to_sums(h[row], scale)
        for n in range(0, used, TOGETHER):
            # Behind the last sequence, the last one again with zero gradient.
            a, b, c, d = (
                sequences[numbers[min(start + n, start + used - 1)]],
                sequences[numbers[min(start + n + 1, start + used - 1)]],
                sequences[numbers[min(start + n + 2, start + used - 1)]],
                sequences[numbers[min(start + n + 3, start + used - 1)]],
            )
            for row in range(0, rows, 2):
                _spread(a, b, c, d, h, n, row, gradient[row], gradient[row + 1])
    return total


@njit(parallel=True, error_model="numpy")
def descend(weights, depth, sequences, outputs, order, reuse, skip, beta, learning_rate, decay, loss):
    """Steps of gradient descent of S data sets from R starts each, in place, all in single precision.

    Parameters
    ----------
    weights : array (S, R, rows, D), changed
        W, padded to an even number of rows with zeros.
    depth : int
        Number of layers L.
    sequences : array (S, N, 2, D)
    outputs : array (S, N, 2, 2)
    order : integer array (S, K, B)
        Numbers of the sequences of each batch.
    reuse : int
        Steps on each batch.
    skip, beta, learning_rate, decay : float32
        c, the inverse temperature, and W <- W - learning_rate (grad loss + decay W), loss = sum ||y - g(h)||^2 / D.
    loss : array (S, R), written
        Mean over the sequences of ||y - g(h)||^2 before the steps on their batch.
    """
    sets, starts, rows, dimension = weights.shape
    for one in prange(sets * starts):
        which, start = one // starts, one % starts
        moved = weights[which, start]
        work = (
            np.zeros((rows, 2, GROUP), np.float32), np.zeros((4, GROUP), np.float32),
            np.zeros((depth, 4, GROUP), np.float32), np.zeros((depth, depth, GROUP), np.float32),
            np.zeros((rows, 2, GROUP), np.float32),
        )  # fmt: skip
        gradient = np.zeros((rows, dimension), np.float32)
        rate, shrink = learning_rate / np.float32(dimension), learning_rate * decay
        total = 0.0
        for batch in range(order.shape[1]):
            for use in range(reuse):
                found = _gradient(
                    moved, depth, sequences[which], outputs[which], order[which, batch], skip, beta, work, gradient
                )
                if use == 0:
                    total += found
                for row in range(rows):
                    for k in range(dimension):
                        moved[row, k] -= rate * gradient[row, k] + shrink * moved[row, k]
        loss[which, start] = total / (order.shape[1] * order.shape[2])
