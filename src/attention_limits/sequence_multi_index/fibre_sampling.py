"""Posterior moments of any link by importance sampling: free rows at random, the rest from the output.

    Z = E_free sum_k exp(log_weight_k) N(candidate_k | free)    (fibre)      Z = E_h p(y | h)    (likelihood)

on nodes of standard normal variables shared by all outputs. With no free rows and no angles the sum is finite and exact.
The channel is that of generalised AMP (Rangan 2011), the proposal our own.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.links.link import Link, inference

# Fields held at once, in numbers: outputs are taken in blocks, so that the work space stays near 50 MB an array.
FIELDS_AT_ONCE = 6_000_000


# Rows of which less than the first fraction is known are drawn wherever omega is; from the second on they follow it.
UNKNOWN, KNOWN = 0.1, 0.3


@dataclass(frozen=True)
class Proposal:
    """How the free rows are drawn from standard normal nodes x, for one prior covariance V of all P rows.

    A row follows omega by a factor s that rises from 0, for rows that are hardly known, to 1:

        h = s omega + spread x,   spread spread^T = V + (1 - s) (I - V) (1 - s),

    which is the prior N(omega, V) for s = 1 and N(0, I) for s = 0. With h = x the posterior mean responds to omega through the
    weights alone, as the exact one does. (Moving the nodes with omega is unbiased too, but near zero overlap its noise is
    several times the signal.) With xi = whitening (h - omega),

        prior / proposal = exp(log_scale + 1/2 sum (x^2 - xi^2)).

    Attributes
    ----------
    shift : array (F,)
        s - 1.
    spread, whitening : arrays (F, F), lower triangular
    regression : array (P - F, F)
        Of the other rows on the free ones.
    rest : array (P - F, P - F)
        Cholesky factor of their covariance given the free ones.
    log_scale : float
    """

    shift: np.ndarray
    spread: np.ndarray
    whitening: np.ndarray
    regression: np.ndarray
    rest: np.ndarray
    log_scale: float


def propose(V, free, tokens) -> Proposal:
    """The proposal for the first `free` rows of fields with covariance V (P, P), positive definite, and `tokens` columns."""
    lower = np.linalg.cholesky(V)
    prior = V[:free, :free]
    shift = np.clip((1.0 - np.diag(prior) - UNKNOWN) / (KNOWN - UNKNOWN), 0.0, 1.0) - 1.0
    spread = np.linalg.cholesky(prior + shift[:, None] * (np.eye(free) - prior) * shift)
    whitening = np.linalg.inv(lower[:free, :free])
    # The lower right block of a Cholesky factor is that of the Schur complement.
    regression = lower[free:, :free] @ whitening
    log_scale = tokens * float(np.sum(np.log(np.diag(spread) * np.diag(whitening))))
    return Proposal(shift, spread, whitening, regression, lower[free:, free:], log_scale)


def _draw(proposal, omega, nodes):
    """Deviations (n, S, F, M) of the free rows from omega (n, P, M), and their log-weights (n, S), from nodes (S, F, M)."""
    moved = np.einsum("p,npa->npa", proposal.shift, omega[:, : nodes.shape[1]])
    deviation = moved[:, None] + np.einsum("pq,sqa->spa", proposal.spread, nodes)
    xi = np.einsum("pq,nsqa->nspa", proposal.whitening, deviation)
    excess = np.sum(nodes**2, axis=(1, 2)) - np.einsum("nspa,nspa->ns", xi, xi)
    return deviation, proposal.log_scale + 0.5 * excess


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
        -0.5 * np.einsum("nskpa,nskpa->nsk", white, white)
        - 0.5 * size * np.log(2.0 * np.pi)
        - tokens * np.sum(np.log(np.diag(rest)))
    )
    both = np.broadcast_to(deviation[:, :, None], (*candidates.shape[:3], free, tokens))
    return np.concatenate([both, bound], axis=3), log_ratio[:, :, None] + log_weight + log_density


def fibre_moments(link: Link, observed, omega, V, nodes):
    """Posterior moments of the fields, one set of nodes for all outputs.

    Parameters
    ----------
    link : Link
    observed : array (n, ...)
        As `link.observe` returns it.
    omega : array (n, P, M)
        Prior means of the fields.
    V : array (P, P)
        Their prior covariance over rows, the same for every token.
    nodes : array (S, free_rows M + angles), or (S, P M) for a likelihood
        Standard normal variables.

    Returns
    -------
    log_z (n,), mean (n, P M), second (n, P M, P M), effective (n,)
        log Z_out; first and second moments of h - omega; effective sample size (sum w)^2 / sum w^2, infinite for a finite sum. An
        output that no node explains keeps the moments of the prior, with log Z -inf and sample size zero.
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
        unexplained = total == 0
        mean[part] = np.where(unexplained[:, None], 0.0, weighted.sum(axis=1))
        moments = np.einsum("nki,nkj->nij", weighted, flat, optimize=True)
        second[part] = np.where(unexplained[:, None, None], np.kron(V, np.eye(link.tokens)), moments)
    return log_z, mean, second, effective
