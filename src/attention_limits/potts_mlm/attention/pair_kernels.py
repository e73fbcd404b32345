"""Kernels of Potts models with a coupling J_ij(a, b) for every pair of sites: pseudo-likelihood, Gibbs sampling, weights.

logits_ia = h_i(a) + sum_{j != i} J_ij(a, s_j). The pseudo-likelihood is that of Besag 1975, for proteins that of Ekeberg et al.
2013 (Phys. Rev. E 87, 012707); the gradient is derived in this module. With one-hot sequences loss and gradient are two matrix
products of M (L C)^2 multiplications each. Nearly all of them are by zero, so the kernels add rows instead. Couplings are laid
out as [i, j, b, a]: the logits from one colour of one site are contiguous.
"""

import numpy as np

from attention_limits.numerics.compiled import REORDERED, njit
from attention_limits.numerics.fast_math import exp
from attention_limits.numerics.simd import float32_lanes
from attention_limits.numerics.simd.aligned_arrays import aligned
from attention_limits.potts_mlm.attention.factored_kernels import residual

# Columns of a row of couplings are a multiple of this, by the bytes of a number: the innermost loops then run over whole vector
# registers. `single_precision_kernels.pairwise` handles two at once.
COLUMNS = {8: 8, 4: 2 * float32_lanes.WIDTH}


def padded(couplings) -> np.ndarray:
    """A copy of couplings (..., C, C) whose last axis is filled with zeros up to a multiple of COLUMNS, P: array (..., C, P)."""
    *others, colors = couplings.shape
    columns = COLUMNS[couplings.itemsize]
    copy = aligned((*others, -(-colors // columns) * columns), couplings.dtype)
    copy[..., :colors] = couplings
    return copy


@njit(fastmath=REORDERED, inline="always")
def _add(target, row):
    """target += row."""
    for a in range(len(target)):
        target[a] += row[a]


@njit(nogil=True, fastmath=REORDERED)
def loss_and_gradient(site, couplings, fields, sequences, weights, d_couplings, d_fields):
    """The loss of one site, sum_m w_m (-log p(s_mi | s_m,-i)), and its gradient.

    With R_m = w_m (softmax - onehot) at this site: dJ_ij(a, b) = sum_m R_ma [s_mj = b] for j != i, dh_i(a) = sum_m R_ma.

    Parameters
    ----------
    site : int
        i.
    couplings : (L, C, P)
        J_ij(a, b) at [j, b, a], padded; zero at j = i.
    fields : (C,)
    sequences : int8 (M, L)
    weights : (M,)
    d_couplings : (L, C, P), d_fields : (C,), written
        The columns of d_couplings from C on are of no use.
    """
    count, sites = sequences.shape
    colors = len(fields)
    logits = np.zeros(couplings.shape[2])
    d_couplings[:] = 0.0
    d_fields[:] = 0.0
    total = 0.0
    for m in range(count):
        for a in range(colors):
            logits[a] = fields[a]
        for j in range(sites):
            _add(logits, couplings[j, sequences[m, j]])
        total += weights[m] * residual(logits[:colors], sequences[m, site])
        for a in range(colors):
            logits[a] *= weights[m]
            d_fields[a] += logits[a]
        for j in range(sites):
            _add(d_couplings[j, sequences[m, j]], logits)
    d_couplings[site] = 0.0
    return total


@njit(nogil=True, fastmath=REORDERED)
def losses(site, couplings, fields, sequences, out):
    """-log p(s_mi | s_m,-i) in nats of sequences (M, L) at site i into out (M,); couplings (L, C, P), fields (C,) as above."""
    colors = len(fields)
    logits = np.zeros(couplings.shape[2])
    for m in range(len(sequences)):
        for a in range(colors):
            logits[a] = fields[a]
        for j in range(len(couplings)):
            _add(logits, couplings[j, sequences[m, j]])
        out[m] = residual(logits[:colors], sequences[m, site])


@njit(nogil=True)
def neighbours(sequences, others, most, out):
    """Number of `others` (N, L) that differ from each of `sequences` (M, L) at `most` sites or fewer, into out (M,)."""
    sites = sequences.shape[1]
    for m in range(len(sequences)):
        out[m] = 0
        for n in range(len(others)):
            differing = 0
            for i in range(sites):
                differing += sequences[m, i] != others[n, i]
                if differing > most:
                    break
            out[m] += differing <= most


@njit(fastmath=REORDERED)
def _draw(logits, uniform):
    """A colour from softmax(logits) by inversion of a uniform number in [0, 1); changes `logits`."""
    highest = logits.max()
    total = 0.0
    for a in range(len(logits)):
        logits[a] = exp(logits[a] - highest)
        total += logits[a]
    left = uniform * total
    for a in range(len(logits) - 1):
        left -= logits[a]
        if left < 0.0:
            return a
    return len(logits) - 1


@njit(nogil=True, fastmath=REORDERED)
def sweep(rng, couplings, fields, states, sweeps):
    """Gibbs sweeps of chains over the sites in order, each chain by itself.

    P(s) ~ exp(sum_i h_i(s_i) + sum_{i<j} J_ij(s_i, s_j)) with J_ij(a, b) = J_ji(b, a).

    Parameters
    ----------
    rng : numpy Generator
    couplings : (L, L, C, P)
        J_ij(a, b) at [i, j, b, a], padded; zero for i = j.
    fields : (L, C)
    states : int8 (n, L), changed
    sweeps : int
    """
    sites, colors = fields.shape
    logits = np.zeros(couplings.shape[3])
    # The couplings of one site stay in the cache for all chains.
    for _ in range(sweeps):
        for i in range(sites):
            for chain in range(len(states)):
                for a in range(colors):
                    logits[a] = fields[i, a]
                for j in range(sites):
                    _add(logits, couplings[i, j, states[chain, j]])
                states[chain, i] = _draw(logits[:colors], rng.random())
