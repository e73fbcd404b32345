"""Posterior moments of any link by importance sampling: free rows at random, the rest from the output.

    Z = E_free sum_k exp(log_weight_k) N(candidate_k | free)    (fibre)      Z = E_h p(y | h)    (likelihood)

on nodes of standard normal variables shared by all outputs. With no free rows and no angles the sum is finite and exact.
The channel is that of generalised AMP (Rangan 2011), the proposals our own.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from attention_limits.numerics.tracing.elementary import NODES
from attention_limits.sequence_multi_index.channels.sampling.compiled_links import (
    compiled_link,
    moments_kernel,
    no_loop,
    said_of,
)
from attention_limits.sequence_multi_index.channels.sampling.importance_kernels import (
    Found,
    Given,
    Law,
    Mixtures,
    Nodes,
    draw,
)
from attention_limits.sequence_multi_index.links.link import Link, inference

# Numbers of the arrays of one block of outputs, for links in NumPy.
BLOCK = 200_000
# Nodes of an output, and nodes of all outputs: a link is compiled from either number on. With fewer NumPy is done before.
COMPILED_FROM, COMPILED_FROM_IN_ALL = 256, 200_000
# With more sampled rows only a change of all signs at once extends the nodes: for all changes the nodes would be too few.
MAX_SIGNED_ROWS = 4
# Rows with a known fraction below the first number are drawn independently of omega; above the second number they follow omega.
INDEPENDENT_BELOW, FOLLOWING_ABOVE = 0.1, 0.3
# Below this effective fraction of the nodes an output gets a separate proposal; largest number of such proposals.
MIN_EFFECTIVE_FRACTION, ADAPTATIONS = 0.1, 2
# Its covariance is the first number times that of the posterior, and the second over 10 + effective sample size times that of the
# prior: few nodes must not make it collapse.
PROPOSAL_WIDENING, PRIOR_SHARE = 1.3, 0.3


@dataclass(frozen=True)
class FieldPrior:
    """The deviations N(0, V) of the fields of one token, split into free rows and the rest.

    Attributes
    ----------
    whitening : array (F, F), lower triangular
        Inverse of the Cholesky factor of the free rows.
    regression : array (P - F, F)
        Of the other rows on the free ones.
    rest : array (P - F, P - F)
        Cholesky factor of their covariance given the free ones.
    """

    whitening: np.ndarray
    regression: np.ndarray
    rest: np.ndarray


def split_prior(V, free) -> FieldPrior:
    """The prior of fields with covariance `V` (P, P), positive definite; the first `free` rows are drawn."""
    lower = np.linalg.cholesky(V)
    whitening = np.linalg.inv(lower[:free, :free])
    # The lower right block of a Cholesky factor is that of the Schur complement.
    return FieldPrior(whitening, lower[free:, :free] @ whitening, lower[free:, free:])


@dataclass(frozen=True)
class Proposals:
    """K Gaussians for each of n outputs; the free rows are drawn in equal numbers from each and weighted as from their mixture.

    (The deterministic mixture of Veach and Guibas 1995: no weight is more than K times that under the best of them.)

    Attributes
    ----------
    centre : array (n, K, F M)
        Deviations from omega, rows before tokens.
    spread : array (n, K, F M, F M), lower triangular
    """

    centre: np.ndarray
    spread: np.ndarray

    @property
    def log_volume(self):
        """Logarithm of the determinants of the spreads, array (n, K)."""
        return np.log(np.diagonal(self.spread, axis1=2, axis2=3)).sum(axis=2)

    def joined(self, other: "Proposals", outputs) -> "Proposals":
        """These of the given outputs, with those of `other` beside them."""
        return Proposals(
            np.concatenate([self.centre[outputs], other.centre], axis=1),
            np.concatenate([self.spread[outputs], other.spread], axis=1),
        )


def shared_proposal(V, omega, free) -> Proposals:
    """The one proposal that all outputs begin with, from V (P, P) and omega (n, P, M).

    A row follows omega by a factor s that rises from 0, for rows that are hardly known, to 1:

        h = s omega + spread x,   spread spread^T = V + (1 - s) (I - V) (1 - s),

    which is the prior N(omega, V) for s = 1 and N(0, I) for s = 0. With h = x the posterior mean responds to omega through the
    weights alone, as the exact one does. (Moving the nodes with omega is unbiased too, but near zero overlap its noise is
    several times the signal.)
    """
    n, _, tokens = omega.shape
    prior, shift = V[:free, :free], _follow(V, free) - 1.0
    spread = np.linalg.cholesky(prior + shift[:, None] * (np.eye(free) - prior) * shift)
    centre = (shift[:, None] * omega[:, :free]).reshape(n, 1, free * tokens)
    return Proposals(centre, np.broadcast_to(np.kron(spread, np.eye(tokens)), (n, 1, *2 * (free * tokens,))))


def _follow(V, free):
    """The factor s of each free row, array (F,)."""
    return np.clip((1.0 - np.diag(V)[:free] - INDEPENDENT_BELOW) / (FOLLOWING_ABOVE - INDEPENDENT_BELOW), 0.0, 1.0)


def own_proposals(V, omega, mean, second, effective, free) -> Proposals:
    """A Gaussian for each output with the moments of its free rows, widened; of the first `free` rows of n outputs.

    `V`, `omega`, and `mean`, `second`, `effective` as `fibre_moments` returned them, best on other nodes. A row that is hardly
    known does not follow omega: it is drawn around zero, not around its posterior mean, and independently of the other rows. Its
    correlation with them is of first order in omega too.
    """
    n, _, tokens = omega.shape
    size = free * tokens
    s = np.repeat(_follow(V, free), tokens)
    mean = mean[:, :size]
    centre = s * mean + (s - 1.0) * omega[:, :free].reshape(n, size)
    cross = mean[:, :, None] * centre[:, None, :]
    around = second[:, :size, :size] - cross - cross.transpose(0, 2, 1) + centre[:, :, None] * centre[:, None, :]
    # A Schur product with a positive matrix of unit diagonal.
    same_row = np.kron(np.eye(free, dtype=bool), np.ones((tokens, tokens), dtype=bool))
    covariance = around * np.where(same_row, 1.0, np.outer(s, s))
    share = PRIOR_SHARE / (10.0 + effective)
    prior = np.kron(V[:free, :free], np.eye(tokens))
    spread = np.linalg.cholesky(PROPOSAL_WIDENING * covariance + share[:, None, None] * prior)
    return Proposals(centre[:, None], spread[:, None])


def adaptive_moments(samples: Sequence[Callable], V, omega, free: int, count: int):
    """Posterior moments from the common proposal, and also from a separate proposal for outputs with few effective nodes.

    Each set of nodes takes the proposals that another set has found. Its own ones would fit its nodes by chance, and make the
    posterior too narrow. (The adaptation is that of population Monte Carlo, Cappe et al. 2004, in few steps.)

    Parameters
    ----------
    samples : callables (outputs, Proposals) -> (log_z, mean, second, effective)
        The moments of the outputs with these numbers on one set of nodes each, as `fibre_moments` returns them.
    V : array (P, P)
    omega : array (n, P, M)
    free : int
        Rows drawn. Without any, the common proposal stays.
    count : int
        Number of nodes of each set.

    Returns
    -------
    list of (log_z, mean, second, effective), one for each set of nodes
    """
    shared = shared_proposal(V, omega, free)
    found = [sample(np.arange(len(omega)), shared) for sample in samples]
    for _ in range(ADAPTATIONS if free else 0):
        sizes = np.stack([values[3] for values in found])
        (few,) = np.nonzero((sizes.mean(axis=0) < MIN_EFFECTIVE_FRACTION * count) & (sizes > 0).all(axis=0))
        if not len(few):
            break
        own = [own_proposals(V, omega[few], *(values[few] for values in one[1:]), free) for one in found]
        tried = [
            sample(few, shared.joined(proposals, few))
            for sample, proposals in zip(samples, own[1:] + own[:1], strict=True)
        ]
        better = sum(one[3] for one in tried) > sizes.sum(axis=0)[few]
        for old, new in zip(found, tried, strict=True):
            for array, values in zip(old, new, strict=True):
                array[few[better]] = values[better]
    return found


def fibre_moments(link: Link, observed, omega, V, nodes, proposals: Proposals | None = None):
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
    proposals : Proposals, optional
        By default the shared one.

    Returns
    -------
    log_z (n,), mean (n, P M), second (n, P M, P M), effective (n,)
        log Z_out; first and second moments of h - omega; effective sample size (sum w)^2 / sum w^2, infinite for a finite sum. An
        output that no node explains keeps the moments of the prior, with log Z -inf and sample size zero.
    """
    n, rows, tokens = omega.shape
    free, size = drawn_rows(link), rows * tokens
    proposals = shared_proposal(V, omega, free) if proposals is None else proposals
    prior = split_prior(V, free)
    law = Law(prior.whitening, prior.regression, np.linalg.inv(prior.rest))
    tiles = _tiles(nodes, free * tokens)
    centre, spread = proposals.centre, proposals.spread
    mixtures = Mixtures(*map(_kernel_array, (centre, spread, np.linalg.inv(spread), proposals.log_volume)))
    count = centre.shape[1] * len(nodes)
    # The moments of the prior stay where no node explains the output.
    found = Found(np.empty(n), np.zeros((n, size)), np.tile(np.kron(V, np.eye(tokens)), (n, 1, 1)), np.empty(n))
    many = len(nodes) >= NODES and (len(nodes) >= COMPILED_FROM or n * count >= COMPILED_FROM_IN_ALL)
    own = compiled_link(link) if many else None
    if own:
        nothing = Given(np.empty((0, 0, 0, 0)), np.empty((0, 0, 0)))
        read = map(_kernel_array, (observed.reshape(n, -1), omega))
        moments_kernel()(True, own.loop, own.candidates, *read, tiles, mixtures, law, nothing, found)
    else:
        angles = np.tile(nodes[:, free * tokens :], (centre.shape[1], 1))
        block = max(1, BLOCK // (count * size * tokens))
        for first in range(0, n, block):
            part = slice(first, first + block)
            some, some_mixtures = _kernel_array(omega[part]), Mixtures(*(array[part] for array in mixtures))
            fields = np.empty((len(some), count, free, tokens))
            draw(tiles, some_mixtures, some, fields)
            candidates, log_weight = map(_kernel_array, said_of(link, observed[part], fields, angles))
            several, unread = candidates.shape[2], np.empty((len(some), 0))
            given = Given(candidates.reshape(len(some), count, several, (rows - free) * tokens), log_weight)
            some_found = Found(*(array[part] for array in found))
            moments_kernel()(False, no_loop, several, unread, some, tiles, some_mixtures, law, given, some_found)
    if count == 1:
        found.effective[found.effective > 0] = np.inf
    unknown = np.isnan(found.log_z)
    found.mean[unknown], found.second[unknown] = np.nan, np.nan
    return tuple(found)


def _kernel_array(array):
    """The array in the layout of the kernel's signature: doubles, contiguous, not read-only."""
    return np.require(array, float, "CW")


def _tiles(nodes, drawn: int) -> Nodes:
    """The nodes (S, drawn + angles) in tiles."""
    count, dimension = nodes.shape
    number = -(-count // NODES)
    padded = np.zeros((number * NODES, dimension))
    padded[:count] = nodes
    tiles = padded.reshape(number, NODES, dimension).transpose(0, 2, 1)
    normal = np.ascontiguousarray(tiles[:, :drawn])
    return Nodes(normal, 0.5 * np.sum(normal**2, axis=1), np.ascontiguousarray(tiles[:, drawn:]), count)


def drawn_rows(link: Link) -> int:
    """Number F of rows that are drawn: the free ones of a fibre, all of a likelihood. Raises ValueError without a channel."""
    return link.free_rows if inference(link) == "fibre" else link.rows


def sign_changes(dimension, link):
    """Signs (k, dimension) by which the nodes are multiplied, so that they are closed under the symmetry of the link.

    A field of unknown sign then has exactly the posterior mean zero, without sampling noise: otherwise overlaps
    below the noise would neither grow nor shrink as they should.
    """
    if link.sign_symmetry == "none":
        return np.ones((1, dimension))
    rows = dimension // link.tokens
    if link.sign_symmetry == "rows" and link.angles == 0 and rows <= MAX_SIGNED_ROWS:
        return np.repeat(list(itertools.product((1.0, -1.0), repeat=rows)), link.tokens, axis=1)
    return np.stack([np.ones(dimension), -np.ones(dimension)])
