"""Slopes of the training loss of extensive-width attention with respect to the fields of the tokens, and a step of Adam.

Both run in the precision of their arrays. Sums are reordered to use vector registers. The loss is that of Boncoraglio, Troiani,
Erba, Zdeborova 2025, arXiv:2506.01582; its slopes are derived in this module by the chain rule.
"""

import math

import numpy as np

from attention_limits.numerics.compiled import njit

# Sums may be reordered; weights that diverge are NaN and stay so.
FAST = {"nsz", "reassoc", "contract"}


@njit(fastmath=FAST)
def field_slopes(fields, outputs, trace, scale, beta, slopes, losses, diagonal):
    """Derivatives of sum_mu ||softmax(beta h) - y||_F^2 with respect to the fields of n sequences, for K starts.

    Parameters
    ----------
    fields : array (n, M, K, r)
        x_a W; h_ab = scale (fields_a . fields_b - delta_ab trace).
    outputs : array (n, M, M)
        y.
    trace : array (K,)
        ||W||_F^2.
    scale, beta : numbers of the same precision
    slopes : array (n, M, K, r)
        Receives the derivatives with respect to the fields at constant trace.
    losses, diagonal : array (K,) of double precision
        The sum of the losses, and of scale dloss/dh_aa over a, are added.
    """
    count, tokens, starts, rank = fields.shape
    h, attention, slope = np.empty((3, tokens, tokens), dtype=fields.dtype)
    two, zero = fields.dtype.type(2.0), fields.dtype.type(0.0)
    for m in range(count):
        for k in range(starts):
            for a in range(tokens):
                for b in range(a, tokens):
                    total = fields[m, a, k, 0] * fields[m, b, k, 0]
                    for c in range(1, rank):
                        total += fields[m, a, k, c] * fields[m, b, k, c]
                    if a == b:
                        total -= trace[k]
                    h[a, b] = h[b, a] = beta * scale * total
            loss = 0.0
            for a in range(tokens):
                largest = h[a, 0]
                for b in range(1, tokens):
                    largest = max(largest, h[a, b])
                total = zero
                for b in range(tokens):
                    attention[a, b] = math.exp(h[a, b] - largest)
                    total += attention[a, b]
                mean = zero
                for b in range(tokens):
                    attention[a, b] /= total
                    slope[a, b] = attention[a, b] - outputs[m, a, b]
                    mean += slope[a, b] * attention[a, b]
                    loss += slope[a, b] * slope[a, b]
                for b in range(tokens):
                    slope[a, b] = two * beta * scale * attention[a, b] * (slope[a, b] - mean)
                diagonal[k] += slope[a, a]
            losses[k] += loss
            for a in range(tokens):
                weight = slope[a, 0] + slope[0, a]
                for c in range(rank):
                    slopes[m, a, k, c] = weight * fields[m, 0, k, c]
                for b in range(1, tokens):
                    weight = slope[a, b] + slope[b, a]
                    for c in range(rank):
                        slopes[m, a, k, c] += weight * fields[m, b, k, c]


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
