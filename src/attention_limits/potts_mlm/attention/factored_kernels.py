"""Loss and gradient of factored attention, logits_ia = sum_{j != i} A_ij V[a, s_j], for sequences s (M, L).

The model is that of Rende et al. 2024 (arXiv:2304.07235); the gradient is derived in this module. The kernels take the sequences
in blocks, so that a sum over sites is a product of an (L, L) and an (L, BLOCK C) matrix. `values` is the transpose of V: the
logits from one colour are contiguous.
"""

import math

import numpy as np

from attention_limits.numerics.compiled import REORDERED, njit
from attention_limits.numerics.fast_math import exp

# Sequences per block.
BLOCK = 32


@njit(fastmath=REORDERED)
def residual(logits, own):
    """-log softmax(logits)[own]; `logits` becomes softmax minus the one-hot vector of `own`."""
    colors = len(logits)
    highest = logits[0]
    for a in range(colors):
        highest = max(highest, logits[a])
    chosen = logits[own] - highest
    total = 0.0
    for a in range(colors):
        logits[a] = exp(logits[a] - highest)
        total += logits[a]
    scale = 1.0 / total
    for a in range(colors):
        logits[a] *= scale
    logits[own] -= 1.0
    return math.log(total) - chosen


@njit
def _gather(values, sequences, gathered):
    """gathered[j, m C : (m + 1) C] = values[s_mj]."""
    colors = values.shape[1]
    for j in range(sequences.shape[1]):
        for m in range(len(sequences)):
            gathered[j, m * colors : (m + 1) * colors] = values[sequences[m, j]]


@njit
def losses(attention, values, sequences, out):
    """-log p(s_mi | s_m,-i) in nats of sequences (M, L) into out (M, L).

    attention (L, L) has a zero diagonal, values (C, C) is V^T.
    """
    count, sites = sequences.shape
    colors = values.shape[1]
    for start in range(0, count, BLOCK):
        part = sequences[start : start + BLOCK]
        gathered = np.empty((sites, len(part) * colors))
        _gather(values, part, gathered)
        rest = np.dot(attention, gathered)
        for i in range(sites):
            for m in range(len(part)):
                out[start + m, i] = residual(rest[i, m * colors : (m + 1) * colors], part[m, i])


@njit
def loss_and_gradient(attention, values, sequences, d_attention, d_values):
    """The mean loss over sequences and sites; its gradient into d_attention (L, L) and d_values (C, C), laid out as `values`.

    With R_mi = softmax - onehot: dA_ij = (1/ML) sum_m R_mi . V[:, s_mj], dV_ab = (1/ML) sum_mij R_mia A_ij [s_mj = b].
    """
    count, sites = sequences.shape
    colors = values.shape[1]
    d_attention[:], d_values[:] = 0.0, 0.0
    total = 0.0
    for start in range(0, count, BLOCK):
        part = sequences[start : start + BLOCK]
        gathered = np.empty((sites, len(part) * colors))
        _gather(values, part, gathered)
        rest = np.dot(attention, gathered)
        for i in range(sites):
            for m in range(len(part)):
                total += residual(rest[i, m * colors : (m + 1) * colors], part[m, i])
        d_attention += np.dot(rest, gathered.T)
        received = np.dot(attention.T, rest)
        for j in range(sites):
            for m in range(len(part)):
                d_row = d_values[part[m, j]]
                for a in range(colors):
                    d_row[a] += received[j, m * colors + a]
    for i in range(sites):
        d_attention[i, i] = 0.0
    scale = 1.0 / (count * sites)
    d_attention *= scale
    d_values *= scale
    return total * scale
