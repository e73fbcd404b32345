"""Growth of each unlearned layer on the branch on which one layer is learned, with its error.

`staircase` follows only the largest growth. On few nodes noise hides which layer has it; this module gives the growth of every
layer. The sign of every row must be free. Then E[h_ka h_lb | y] = 0 for two unlearned rows k and l, and F is diagonal: its
eigenvalues are F_ll = E sum_ab (E[h_la h_lb | y] - delta_ab)^2 (Troiani et al. 2025, arXiv:2502.00901).
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.numerics.probability.statistics import combine_unbiased
from attention_limits.sequence_multi_index.channels.averages import sample_outputs
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.channels.posterior import denoiser
from attention_limits.sequence_multi_index.links.link import DIAGONAL_OVERLAP, require
from attention_limits.sequence_multi_index.state_evolution.linear_response import (
    BLOCKS,
    HALF_OF_THE_NODES,
    contrasts,
    excess_moments,
    response_blocks,
    root_mean_square,
    symmetric_basis,
)


@dataclass(frozen=True)
class Growth:
    """A point of the branch.

    Attributes
    ----------
    alpha, alpha_error : float
        n / d at which the overlap of the learned row is the fixed point, and standard error.
    factor, error : arrays (P - 1,)
        alpha F_ll of the other rows, in their order, by which a small overlap grows per iteration, and standard error.
    alpha_shift : float
    shift : array (P - 1,)
        Mean of alpha and of the factors over the two halves of the nodes minus alpha and the factors: the error of few nodes,
        which replicas share. A sampled channel has a new scrambling of half as many nodes on each half.
    resolved : float
        Fraction of outputs whose channel met its check.
    """

    alpha: float
    alpha_error: float
    alpha_shift: float
    factor: np.ndarray
    error: np.ndarray
    shift: np.ndarray
    resolved: float


def growth_by_row(channel: Channel, nodes, row: int, overlap: float) -> Growth:
    """Growth of all rows but one, which has an overlap while the others have none.

    The errors are those of one replica: the scatter of eight blocks of the nodes, which share the nodes of a sampled channel.

    Parameters
    ----------
    channel : Channel
        Of a link in which the sign of every row is free.
    nodes : GaussianNodes
        In `averages.node_dimension(channel.link)` dimensions, a multiple of `linear_response.BLOCKS`.
    row : int
        The learned row, from 0.
    overlap : float
        Q of this row, in (0, 1).

    Raises
    ------
    ValueError
        If the overlap is out of its range, or the sign of a row is not free.
    """
    require(channel.link, {DIAGONAL_OVERLAP})
    if not 0 < overlap < 1:
        raise ValueError(f"overlap must be above 0 and below 1, got {overlap!r}")
    inverse, responses, resolved = _blocks(channel, nodes, row, overlap)
    whole = _joined(inverse, responses)
    parts = zip(channel.independent(2, finer=HALF_OF_THE_NODES), nodes.blocks(2), strict=True)
    halves = np.stack([_joined(*_blocks(*part, row, overlap)[:2]) for part in parts])
    alpha, factor = whole[0], whole[1:]
    alpha_error = alpha**2 * root_mean_square(contrasts(inverse))
    error = alpha * root_mean_square(contrasts(responses - factor * inverse[:, None]))
    shift = halves.mean(axis=0) - whole
    return Growth(float(alpha), float(alpha_error), float(shift[0]), factor, error, shift[1:], resolved)


def _blocks(channel, nodes, row, overlap):
    """1 / alpha (BLOCKS,) and F_ll of the other rows (BLOCKS, P - 1) on each block of nodes; the share of resolved outputs."""
    size = channel.link.rows
    unit = np.eye(size)
    Q = overlap * np.outer(unit[row], unit[row])
    V = unit - Q
    omega, observed = sample_outputs(channel.link, Q, V, nodes.points)
    moments = channel.posterior(observed, omega, V)
    (first, second), dg = denoiser(moments, V)
    squares = nodes.weights * np.einsum("na,na->n", first[:, row], second[:, row])
    information = (
        combine_unbiased(squares, nodes.weights * (channel.spikes - dg)[:, row, row]).reshape(BLOCKS, -1).mean(axis=1)
    )
    excess = excess_moments(moments, V, np.delete(unit, row, axis=1))
    responses = response_blocks(excess, nodes.weights, symmetric_basis(size - 1, diagonal=True))
    # Q = Q_hat / (1 + Q_hat), Q_hat = alpha E sum_a g_a^2.
    inverse = information * (1.0 - overlap) / overlap
    return inverse, np.diagonal(responses, axis1=1, axis2=2), float(moments.resolved.mean())


def _joined(inverse, responses):
    """alpha and the factors of the other rows from all blocks, array (P,)."""
    alpha = 1.0 / inverse.mean()
    return np.append(alpha, alpha * responses.mean(axis=0))
