"""Posterior moments of any link by importance sampling: free rows at random, the rest from the output.

    Z = E_free sum_k exp(log_weight_k) N(candidate_k | free)    (fibre)      Z = E_h p(y | h)    (likelihood)

on nodes of standard normal variables shared by all outputs. With no free rows and no angles the sum is finite and exact.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.links.link import Link, inference

# Fields held at once, in numbers: outputs are taken in blocks, so that the work space stays near 50 MB an array.
FIELDS_AT_ONCE = 6_000_000


# Rows of which less than this is known are drawn from N(0, 1) whatever omega is, and reweighted.
KNOWN = 0.2


@dataclass(frozen=True)
class Proposal:
    """How the free rows are drawn from standard normal nodes x, for one prior covariance V of all P rows.

    Rows that are hardly known (V_ll > 1 - KNOWN) come first and are the nodes themselves, h = x, at any omega: their posterior
    mean then responds to omega through the weights alone, as the exact one does. (Moving the nodes with omega is unbiased too,
    but near zero overlap its noise is several times the signal.) The other free rows follow from their prior given these. In
    whitened deviations, V_ff = mix mix^T and h - omega = mix xi:

        xi = innovation (x - omega)  for the first `fixed` of them,   xi = x  for the others,
        prior / proposal = exp(log_scale + 1/2 sum_fixed (x^2 - xi^2)).

    Attributes
    ----------
    order : int array (F,)
        The free rows, those with fixed nodes first; xi and x are in this order.
    fixed : int
    innovation : array (fixed, fixed)
    mix : array (F, F)
        Rows in the link's order, columns in `order`.
    regression : array (P - F, F)
        Of the other rows on the free ones.
    rest : array (P - F, P - F)
        Cholesky factor of their covariance given the free ones.
    log_scale : float
    """

    order: np.ndarray
    fixed: int
    innovation: np.ndarray
    mix: np.ndarray
    regression: np.ndarray
    rest: np.ndarray
    log_scale: float


def propose(V, free, tokens) -> Proposal:
    """The proposal for the first `free` rows of fields with covariance V (P, P) and `tokens` columns."""
    known = np.diag(V)[:free] < 1.0 - KNOWN
    order = np.concatenate([np.flatnonzero(~known), np.flatnonzero(known)])
    fixed = int(np.sum(~known))
    everything = np.concatenate([order, np.arange(free, len(V))])
    lower = np.linalg.cholesky(V[np.ix_(everything, everything)])
    mix = np.empty((free, free))
    mix[order] = lower[:free, :free]
    innovation = np.linalg.inv(lower[:fixed, :fixed])
    # The lower right block of a Cholesky factor is that of the Schur complement.
    regression = np.linalg.solve(mix.T, lower[free:, :free].T).T
    log_scale = -tokens * float(np.sum(np.log(np.diag(lower)[:fixed])))
    return Proposal(order, fixed, innovation, mix, regression, lower[free:, free:], log_scale)


def _draw(proposal, omega, nodes):
    """Deviations (n, S, F, M) of the free rows from omega (n, P, M), and their log-weights (n, S), from nodes (S, F, M)."""
    n, fixed = len(omega), proposal.fixed
    xi = np.broadcast_to(nodes, (n, *nodes.shape)).copy()
    moved = nodes[:, :fixed] - omega[:, None, proposal.order[:fixed]]
    xi[:, :, :fixed] = np.einsum("pq,nsqa->nspa", proposal.innovation, moved)
    excess = np.sum(nodes[:, :fixed] ** 2, axis=(1, 2)) - np.sum(xi[:, :, :fixed] ** 2, axis=(2, 3))
    return np.einsum("pq,nsqa->nspa", proposal.mix, xi), proposal.log_scale + 0.5 * excess


def _weigh(link, observed, omega, V, nodes):
    """Deviations h - omega (n, S, K, P, M) of the candidates and their log-weights (n, S, K)."""
    form = inference(link)
    free = link.free_rows if form == "fibre" else link.rows
    tokens = link.tokens
    proposal = propose(V, free, tokens)
    rest = proposal.rest
    deviation, log_ratio = _draw(proposal, omega, nodes[:, : free * tokens].reshape(len(nodes), free, tokens))
    fields = omega[:, None, :free] + deviation
    if form == "likelihood":
        return deviation[:, :, None], (log_ratio + link.log_likelihood(observed, fields))[:, :, None]
    candidates, log_weight = link.fibre(observed, fields, nodes[:, free * tokens :])
    bound = candidates - omega[:, None, None, free:]
    # A missing candidate has weight zero and must not spoil the sums.
    bound = np.where(np.isfinite(log_weight)[..., None, None], bound, 0.0)
    excess = bound - np.einsum("pq,nsqa->nspa", proposal.regression, deviation)[:, :, None]
    white = np.einsum("pq,nskqa->nskpa", np.linalg.inv(rest), excess)
    size = (len(V) - free) * tokens
    log_density = (
        -0.5 * np.sum(white**2, axis=(-2, -1))
        - 0.5 * size * np.log(2.0 * np.pi)
        - tokens * np.sum(np.log(np.diag(rest)))
    )
    both = np.broadcast_to(deviation[:, :, None], (*candidates.shape[:3], free, tokens))
    return np.concatenate([both, bound], axis=3), log_ratio[:, :, None] + log_weight + log_density


def fibre_moments(link: Link, observed, omega, V, nodes):
    """Posterior moments of the fields, one set of nodes for all outputs.

    Parameters
    ----------
    observed : array (n, ...)
        As `link.observe` returns it.
    omega : array (n, P, M)
    V : array (P, P)
    nodes : array (S, free_rows M + angles), or (S, P M) for a likelihood
        Standard normal variables.

    Returns
    -------
    log_z (n,), mean (n, P M), second (n, P M, P M), effective (n,)
        log Z_out; first and second moments of h - omega; effective sample size (sum w)^2 / sum w^2, infinite for a finite sum.
    """
    n, size = len(observed), link.rows * link.tokens
    log_z, mean, second, effective = np.empty(n), np.empty((n, size)), np.empty((n, size, size)), np.empty(n)
    block = max(1, FIELDS_AT_ONCE // (len(nodes) * size))
    for first in range(0, n, block):
        part = slice(first, first + block)
        deviation, log_weight = _weigh(link, observed[part], omega[part], V, nodes)
        shift = np.max(log_weight, axis=(1, 2), keepdims=True)
        shift = np.where(np.isfinite(shift), shift, 0.0)
        weight = np.exp(log_weight - shift)
        total = weight.sum(axis=(1, 2))
        per_node = weight.sum(axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_z[part] = np.log(total / len(nodes)) + shift[:, 0, 0]
            effective[part] = np.nan_to_num(total**2 / np.sum(per_node**2, axis=1)) if len(nodes) > 1 else np.inf
            weight /= total[:, None, None]
        flat = deviation.reshape(len(total), -1, size)
        weighted = weight.reshape(len(total), -1, 1) * flat
        mean[part] = weighted.sum(axis=1)
        second[part] = np.einsum("nki,nkj->nij", weighted, flat, optimize=True)
    return log_z, mean, second, effective
