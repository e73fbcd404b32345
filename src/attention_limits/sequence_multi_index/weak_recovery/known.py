"""Recovered directions of the weights: their overlap, and which directions they are.

The directions of a first threshold have the error of few nodes. At 1 - Q = v a direction must be right to the root of v: one that
is wrong by more reads other fields with this precision. The state evolution turns it to the right one: the directions that the
outputs determine best are those of the largest eigenvalues of E sum_a g_a g_a^T (Troiani et al. 2025, arXiv:2502.00901), of
order 1 / v, with an error of the order of the root of v / nodes.
"""

import numpy as np
from scipy.linalg import block_diag

from attention_limits.sequence_multi_index.channels.averages import channel_averages
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.priors.prior import Prior

# 1 - Q of a known direction. If the output does not fix the sign of the known field, a field smaller than the root of this number
# has no sign. The next threshold can then have an error as large as this root. With 2e-5 a quadrature over h_3 gives the second
# step of h_3^2 + sign(h_1 h_2 h_3) too large by 0.33 %.
UNKNOWN = 1e-10
# 1 - Q at which the directions are found, one after the other; the last one twice, with its own directions.
STEPS = (1e-1, 1e-2, 1e-4, 1e-6, 1e-8, UNKNOWN, UNKNOWN)


def overlap_beside(known, learned, precision, prior: Prior, unknown=UNKNOWN):
    """Q (P, P) on a branch beside recovered directions.

    Parameters
    ----------
    known : array (P, j)
        Recovered directions of the whitened rows, orthonormal columns.
    learned : array (P, k)
        The directions of the branch, orthogonal to the known ones.
    precision : array (k, k)
        Their Q_hat.
    prior : Prior
    unknown : float
        1 - Q of the known directions.
    """
    count = known.shape[1]
    if not count:
        return prior.confined(learned, precision)
    both = block_diag(precision, np.eye(count) / unknown)
    found = prior.confined(np.concatenate([learned, known], axis=1), both, 1.0 - unknown)
    return 0.5 * (found + found.T)


def recovered_overlap(known, prior: Prior, unknown=UNKNOWN):
    """Q (P, P) of recovered directions `known` alone, with the `prior`, to 1 - Q = `unknown`; see `overlap_beside`."""
    return overlap_beside(known, np.zeros((len(known), 0)), np.zeros((0, 0)), prior, unknown)


def aligned(channel: Channel, nodes, directions, prior: Prior):
    """Recovered directions (P, j) from `directions` (P, j) with the error of few nodes, orthonormal columns.

    The `channel` is averaged over its `nodes`, with the `prior` of the weights.

    Where the sign of every row is free the directions are rows, and have no error. Otherwise the prior is standard normal.
    """
    if prior.symmetry(channel.link) == "rows":
        return directions
    for unknown in STEPS:
        overlap = recovered_overlap(directions, prior, unknown)
        information = channel_averages(channel, overlap, nodes, prior=prior).information
        if not np.all(np.isfinite(information)):
            return directions
        directions = np.linalg.eigh(information)[1][:, -directions.shape[1] :]
    return directions
