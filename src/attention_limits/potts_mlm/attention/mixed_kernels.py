"""Loss and gradient of attention layers between factored and position-free, for sequences s (M, L); see `mixed`.

The model is that of Rende et al. 2024 (arXiv:2304.07235, Fig. 2d); the gradient is derived in this module. With
q_i = a S_mask + (1 - a) S_i the score of site j at the masked site i is e_ij = (1 - a) q_i[j] + a q_i[s_j], and
e_ii = (1 - a) q_i[i].
"""

import numpy as np

from attention_limits.numerics.compiled import REORDERED, njit
from attention_limits.numerics.fast_math import exp
from attention_limits.potts_mlm.attention.factored_kernels import residual


@njit
def _queries(scores, mixing, sites):
    """q (L, d) of all masked sites."""
    queries = np.empty((sites, scores.shape[1]))
    for i in range(sites):
        queries[i] = mixing * scores[-1] + (1.0 - mixing) * scores[i]
    return queries


@njit(fastmath=REORDERED)
def _softmax(row):
    highest = row[0]
    for j in range(len(row)):
        highest = max(highest, row[j])
    total = 0.0
    for j in range(len(row)):
        row[j] = exp(row[j] - highest)
        total += row[j]
    scale = 1.0 / total
    for j in range(len(row)):
        row[j] *= scale


@njit
def _attend(queries, sequence, mixing, softmax, attention, own):
    """Write the attention (L, L) of a sequence, with zero diagonal, and into own (L,) the weight of the masked site itself."""
    sites = len(sequence)
    for i in range(sites):
        row = attention[i]
        for j in range(sites):
            row[j] = (1.0 - mixing) * queries[i, j] + mixing * queries[i, sequence[j]]
        row[i] = (1.0 - mixing) * queries[i, i]
        if softmax:
            _softmax(row)
        own[i] = row[i]
        row[i] = 0.0


@njit
def losses(scores, values, sequences, mixing, softmax, out):
    """-log p(s_mi | s_m,-i) in nats of sequences (M, L) into out (M, L).

    `scores`, `values`, `mixing` and `softmax` as in `loss_and_gradient`.
    """
    sites = sequences.shape[1]
    queries = _queries(scores, mixing, sites)
    attention, own = np.empty((sites, sites)), np.empty(sites)
    gathered = np.empty((sites, values.shape[1]))
    for m in range(len(sequences)):
        _attend(queries, sequences[m], mixing, softmax, attention, own)
        for j in range(sites):
            gathered[j] = values[sequences[m, j]]
        logits = np.dot(attention, gathered)
        for i in range(sites):
            out[m, i] = residual(logits[i], sequences[m, i])


@njit
def loss_and_gradient(scores, values, sequences, mixing, softmax, d_scores, d_values):
    """The mean loss over sequences and sites; its gradient into d_scores and d_values.

    Parameters
    ----------
    scores : (d + 1, d)
        S = Q^T K, d = max(C, L), the mask in the last row.
    values : (C, C)
        V^T.
    sequences : int8 (M, L)
    mixing : float
        a.
    softmax : bool
        The attention is the softmax of e; otherwise e itself.
    d_scores, d_values : written
        Laid out as `scores` and `values`. With R = softmax - onehot: dA_ij = R_i . V[:, s_j], dV[:, s_j] += A_ij R_i, and for
        the softmax de_ij = A_ij (dA_ij - sum_k A_ik dA_ik).
    """
    count, sites = sequences.shape
    queries = _queries(scores, mixing, sites)
    d_queries = np.zeros_like(queries)
    attention, own = np.empty((sites, sites)), np.empty(sites)
    gathered = np.empty((sites, values.shape[1]))
    d_scores[:], d_values[:] = 0.0, 0.0
    total = 0.0
    for m in range(count):
        sequence = sequences[m]
        _attend(queries, sequence, mixing, softmax, attention, own)
        for j in range(sites):
            gathered[j] = values[sequence[j]]
        rest = np.dot(attention, gathered)
        for i in range(sites):
            total += residual(rest[i], sequence[i])
        received = np.dot(attention.T, rest)
        for j in range(sites):
            d_row = d_values[sequence[j]]
            for a in range(len(d_row)):
                d_row[a] += received[j, a]
        change = np.dot(rest, gathered.T)
        for i in range(sites):
            change[i, i] = 0.0
            if softmax:
                mean = 0.0
                for j in range(sites):
                    mean += attention[i, j] * change[i, j]
                for j in range(sites):
                    change[i, j] = attention[i, j] * (change[i, j] - mean)
                change[i, i] = -own[i] * mean
            row = d_queries[i]
            for j in range(sites):
                row[j] += (1.0 - mixing) * change[i, j]
                if j != i:
                    row[sequence[j]] += mixing * change[i, j]
    scale = 1.0 / (count * sites)
    for i in range(sites):
        d_scores[i] = (1.0 - mixing) * scale * d_queries[i]
        d_scores[-1] += mixing * scale * d_queries[i]
    d_values *= scale
    return total * scale
