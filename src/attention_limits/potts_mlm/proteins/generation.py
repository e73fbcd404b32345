"""Sequences from a fitted Potts model: P(s) ~ exp(sum_i h_i(s_i) + sum_{i<j} J_ij(s_i, s_j)), by Gibbs sampling.

The first half of the chains begins at random colours, the second half at sequences of the alignment. If both halves agree, both
have forgotten their starts. The check is derived in this module.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.potts_mlm.attention import pair_kernels

# Standard errors by which the mean energies of the two halves may differ.
DEVIATIONS = 4.0


@dataclass(frozen=True)
class Generated:
    """The last state of every chain.

    Attributes
    ----------
    states : int8 array (n, L)
    energies : array (n,)
        -sum_i h_i(s_i) - sum_{i<j} J_ij(s_i, s_j).
    converged : bool
        Whether the mean energies of the two halves of the chains differ by at most DEVIATIONS standard errors.
    """

    states: np.ndarray
    energies: np.ndarray
    converged: bool


def generate(fields, couplings, sequences, count: int, sweeps: int, rng: np.random.Generator) -> Generated:
    """`count` sequences, each the end of a chain of `sweeps` Gibbs sweeps over the sites in order.

    Parameters
    ----------
    fields : array (L, C), couplings : array (L, L, C, C)
        Of one Potts model, as `contacts.joint_model` returns: J_ij(a, b) = J_ji(b, a) at [i, j, b, a].
    sequences : int8 array (M, L)
        Starts of the second half of the chains, drawn with replacement.
    count : int
        At least 4.
    sweeps : int
    rng : numpy.random.Generator
    """
    half = count // 2
    colors = fields.shape[1]
    random = rng.integers(0, colors, (half, len(fields))).astype(np.int8)
    states = np.concatenate([random, sequences[rng.integers(0, len(sequences), count - half)]]).astype(np.int8)
    pair_kernels.sweep(rng, pair_kernels.padded(couplings), np.ascontiguousarray(fields), states, sweeps)
    found = energies(fields, couplings, states)
    parts = found[:half], found[half:]
    error = np.sqrt(sum(part.var(ddof=1) / len(part) for part in parts))
    return Generated(states, found, bool(abs(parts[0].mean() - parts[1].mean()) <= DEVIATIONS * error))


def energies(fields, couplings, states) -> np.ndarray:
    """-sum_i h_i(s_i) - sum_{i<j} J_ij(s_i, s_j) of `states` (n, L): array (n,); `fields` and `couplings` as in `generate`."""
    sites = np.arange(len(fields))
    found = np.empty(len(states))
    for number, state in enumerate(np.asarray(states, dtype=int)):
        pairs = couplings[sites[:, None], sites, state[None, :], state[:, None]]
        found[number] = -fields[sites, state].sum() - 0.5 * pairs.sum()
    return found
