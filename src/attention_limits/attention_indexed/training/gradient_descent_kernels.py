"""Slopes of the training loss of extensive-width attention with respect to the fields of the tokens, and a step of Adam.

Both run in the precision of their arrays. Sums are reordered to use vector registers. The loss is that of Boncoraglio, Troiani,
Erba, Zdeborova 2025, arXiv:2506.01582; its slopes are derived in this module by the chain rule.
"""

import math

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.fast_math import exp_of

# Sums may be reordered; weights that diverge are NaN and stay so.
FAST = {"nsz", "reassoc", "contract"}


@njit(fastmath=FAST)
def _add_products(fields, a, b, total):
    """Add sum_c fields[c, a] fields[c, b] to total (n,); fields (r, M, n)."""
    rank = len(fields)
    fours = rank - rank % 4
    for c in range(0, fours, 4):
        f_1, f_2, f_3, f_4 = fields[c, a], fields[c + 1, a], fields[c + 2, a], fields[c + 3, a]
        g_1, g_2, g_3, g_4 = fields[c, b], fields[c + 1, b], fields[c + 2, b], fields[c + 3, b]
        for m in range(total.size):
            total[m] += (f_1[m] * g_1[m] + f_2[m] * g_2[m]) + (f_3[m] * g_3[m] + f_4[m] * g_4[m])
    for c in range(fours, rank):
        f_1, g_1 = fields[c, a], fields[c, b]
        for m in range(total.size):
            total[m] += f_1[m] * g_1[m]


@njit(fastmath=FAST, error_model="numpy")
def _row_slopes(h, outputs, factor, rows):
    """Turn a row of beta h, (M, n), into factor times dloss/dh / 2 of the softmax of this row; returns the loss of the row.

    outputs (M, n) is the row of y; rows (3, n) is a work space.
    """
    tokens, count = h.shape
    largest, total, mean = rows[0], rows[1], rows[2]
    one, loss = h.dtype.type(1.0), h.dtype.type(0.0)
    for m in range(count):
        largest[m], total[m], mean[m] = h[0, m], 0.0, 0.0
    for b in range(1, tokens):
        x = h[b]
        for m in range(count):
            largest[m] = max(largest[m], x[m])
    for b in range(tokens):
        x = h[b]
        for m in range(count):
            x[m] = exp_of(x[m] - largest[m])
            total[m] += x[m]
    for m in range(count):
        total[m] = one / total[m]
    for b in range(tokens):
        x, y = h[b], outputs[b]
        for m in range(count):
            x[m] *= total[m]
            difference = x[m] - y[m]
            mean[m] += difference * x[m]
            loss += difference * difference
    for b in range(tokens):
        x, y = h[b], outputs[b]
        for m in range(count):
            x[m] = factor * x[m] * (x[m] - y[m] - mean[m])
    return loss


@njit(fastmath=FAST)
def field_slopes(fields, outputs, trace, scale, beta, slopes, losses, diagonal):
    """Derivatives of sum_mu ||softmax(beta h) - y||_F^2 with respect to the fields of n sequences, for K starts.

    Parameters
    ----------
    fields : array (K, r, M, n)
        x_a W; h_ab = scale (fields_a . fields_b - delta_ab trace).
    outputs : array (M, M, n)
        y.
    trace : array (K,)
        ||W||_F^2.
    scale, beta : numbers of the same precision
    slopes : array (K, r, M, n)
        Receives the derivatives with respect to the fields at constant trace.
    losses, diagonal : array (K,) of double precision
        The sum of the losses, and of scale dloss/dh_aa over a, are added.
    """
    starts, rank, tokens, count = fields.shape
    kind = fields.dtype
    h, rows = np.empty((tokens, tokens, count), kind), np.empty((3, count), kind)
    for k in range(starts):
        h[:] = kind.type(0.0)
        for a in range(tokens):
            for b in range(a, tokens):
                _add_products(fields[k], a, b, h[a, b])
        shift = trace[k]
        for a in range(tokens):
            for b in range(a, tokens):
                x, y = h[a, b], h[b, a]
                for m in range(count):
                    value = beta * scale * (x[m] - shift) if a == b else beta * scale * x[m]
                    x[m] = value
                    y[m] = value
        for a in range(tokens):
            losses[k] += _row_slopes(h[a], outputs[a], kind.type(2.0) * beta * scale, rows)
            total = kind.type(0.0)
            x = h[a, a]
            for m in range(count):
                total += x[m]
            diagonal[k] += total
        # Both h_ab and h_ba are products of the fields of a and b.
        for a in range(tokens):
            for b in range(a, tokens):
                x, y = h[a, b], h[b, a]
                for m in range(count):
                    value = x[m] + y[m]
                    x[m] = value
                    y[m] = value
        for c in range(rank):
            for a in range(tokens):
                out, weight, field = slopes[k, c, a], h[a, 0], fields[k, c, 0]
                for m in range(count):
                    out[m] = weight[m] * field[m]
                for b in range(1, tokens):
                    weight, field = h[a, b], fields[k, c, b]
                    for m in range(count):
                        out[m] += weight[m] * field[m]


@njit(fastmath=FAST)
def adam_step(weights, gradient, mean, square, decays, rates, smallest):
    """One step of Adam (Kingma and Ba 2015, arXiv:1412.6980) changes flat `weights`, and `mean` and `square`, its averages.

    `gradient` and the averages of the gradient and of its square have the length of the weights. `decays` are beta_1 and beta_2;
    `rates` are the learning rate over 1 - beta_1^t, and 1 / (1 - beta_2^t); `smallest` is epsilon.
    """
    one = weights.dtype.type(1.0)
    for i in range(weights.size):
        mean[i] = decays[0] * mean[i] + (one - decays[0]) * gradient[i]
        square[i] = decays[1] * square[i] + (one - decays[1]) * gradient[i] * gradient[i]
        weights[i] -= rates[0] * mean[i] / (math.sqrt(rates[1] * square[i]) + smallest)
