"""One iteration of GAMP with the variance of every sample, before the average over the data.

The fields of one sample have the covariance of all its rows and tokens, and every dimension has its own precision,

    V_mu,(pa)(qb) = 1/D sum_i x_mu,ai x_mu,bi C_i,pq,      A_i = -1/D sum_mu sum_ab x_mu,ai x_mu,bi dg_mu,ab,
    omega_mu = X_mu W_hat^T / sqrt(D) - V_mu g_mu,prev,    b_i = sum_mu g_mu x_mu,i / sqrt(D) + A_i W_hat_i,
    W_hat_i = E[w | b_i, A_i],                             C_i = Cov(w | b_i, A_i).

Relaxed belief propagation has these variances (Troiani et al. 2025, arXiv:2502.00901, appendix); its messages between single
samples and dimensions are expanded here, as in GAMP. As D grows, x_a x_b / D tends to delta_ab, V_mu to V kron I and A_i to A,
and the iteration becomes that of `messages`.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.gamp.messages import SMALLEST_VARIANCE, Knowledge, State, smallest_variance
from attention_limits.sequence_multi_index.links.link import FINITE_SUM
from attention_limits.sequence_multi_index.links.wrappers import BlockMultiIndex
from attention_limits.sequence_multi_index.priors.overlaps import clip_spectrum
from attention_limits.sequence_multi_index.priors.prior import Prior

# The precision A_i of one dimension fluctuates around A, below zero too. Of Gaussian weights it is bounded by minus this share
# of the smallest precision of the prior, so that C_i is at most twice the covariance of the prior.
LEAST_SHARE = 0.5


@dataclass(frozen=True)
class SampleState(State):
    """The messages of one iteration; `variance` is the mean of C_i over the dimensions.

    Attributes
    ----------
    covariances : array (D, P, P)
        C_i, the posterior covariance of the weights of dimension i.
    """

    covariances: np.ndarray


def start(state: State, channel: Channel, generator) -> tuple[SampleState, Channel]:
    """The state that starts the iteration, where every dimension has the covariance `state.variance`, and the channel of
    `outputs`.

    `channel` is that of the sequence model; `generator` scrambles the nodes of the new one.
    """
    covariances = np.repeat(state.variance[None], state.estimate.shape[1], axis=0)
    of_one_token = Channel(BlockMultiIndex(channel.link), channel.resolution, generator.spawn(1)[0])
    return SampleState(state.estimate, state.variance, state.onsager, covariances), of_one_token


def step(channel: Channel, observed, tokens, state: SampleState, known: Knowledge, settings):
    """The messages after `state`, and the fraction of samples whose channel is resolved.

    `channel` is that of `start`; `observed` are the outputs (N, ...), `tokens` the data (N M, D) over sqrt(D), and `known` the
    prior and the side information. `settings` are those of `gamp.run`.
    """
    g, dg, share = _outputs(channel, observed, tokens, state, settings.regularization)
    return _updated(tokens, state, g, dg, known, settings.damping), share


def _outputs(channel: Channel, observed, tokens, state: SampleState, regularization):
    """g (N, P, M), dg (N, P, M, P, M), zero where the channel is not resolved, and the resolved fraction.

    The arguments are those of `messages.outputs`.
    """
    n = len(observed)
    shape = state.onsager.shape[1:]
    size = shape[0] * shape[1]
    x = tokens.reshape(n, shape[1], -1)
    fields = (np.einsum("nai,pi->npa", x, state.estimate, optimize=True) - state.onsager).reshape(n, size, 1)
    variances = _variances(x, state.covariances).reshape(n, size, size) + regularization * np.eye(size)
    variances = 0.5 * (variances + variances.transpose(0, 2, 1))
    if channel.method == FINITE_SUM:
        mean, covariance, resolved = finite_moments(channel.link, observed, fields, variances)
    else:
        mean, covariance, resolved = _one_by_one(channel, observed, fields, variances)
    inverse = np.linalg.inv(variances)
    g = np.where(resolved[:, None], np.einsum("nij,nj->ni", inverse, mean), 0.0)
    dg = np.where(resolved[:, None, None], inverse @ covariance @ inverse - inverse, 0.0)
    return g.reshape(n, *shape), dg.reshape(n, *shape, *shape), float(resolved.mean())


def _one_by_one(channel, observed, fields, variances):
    """E[h - omega] (N, P M), Cov(h) (N, P M, P M) given the outputs, and whether they are resolved: a covariance at a time.

    The channel takes one covariance for all outputs; here `variances` (N, P M, P M) hold one for each, and `fields` (N, P M,
    1).
    """
    found = [
        channel.posterior(observed[mu : mu + 1], fields[mu : mu + 1], variances[mu]) for mu in range(len(observed))
    ]
    mean = np.stack([one.mean[0, :, 0] for one in found])
    covariance = np.stack([one.covariance[0, :, 0, :, 0] for one in found])
    return mean, covariance, np.array([one.resolved[0] for one in found])


def finite_moments(link, observed, fields, variances):
    """Moments of the fields of n samples, each with its own covariance, for a link whose output leaves finitely many fields.

    Parameters
    ----------
    link : BlockMultiIndex
    observed : array (n, ...)
    fields : array (n, P M, 1)
        omega.
    variances : array (n, P M, P M)
        V.

    Returns
    -------
    mean (n, P M), covariance (n, P M, P M), resolved (n,)
        E[h - omega] and Cov(h) given the output, and whether there is any candidate.
    """
    n = len(variances)
    candidates, log_weight = link.fibre(observed, np.zeros((n, 1, 0, 1)), np.zeros((1, 0)))
    present = np.isfinite(log_weight[:, 0])
    deviation = np.where(present[:, :, None], candidates[:, 0, :, :, 0] - fields[:, None, :, 0], 0.0)
    white = np.linalg.solve(np.linalg.cholesky(variances), deviation.transpose(0, 2, 1))
    log_weight = np.where(present, log_weight[:, 0] - 0.5 * np.sum(white**2, axis=1), -np.inf)
    resolved = present.any(axis=1)
    weight = np.exp(log_weight - np.where(resolved, log_weight.max(axis=1), 0.0)[:, None])
    weight /= np.where(resolved, weight.sum(axis=1), 1.0)[:, None]
    mean = np.einsum("nk,nki->ni", weight, deviation)
    apart = deviation - mean[:, None]
    return mean, np.einsum("nk,nki,nkj->nij", weight, apart, apart), resolved


def _updated(tokens, state: SampleState, g, dg, known: Knowledge, damping) -> SampleState:
    """The messages after `state`; `g` and `dg` are those of `_outputs`, the other arguments those of `messages.update`."""
    x = tokens.reshape(*g.shape[::2], -1)
    precisions = bounded(-_precisions(x, dg), known.prior)
    target = np.einsum("npa,nai->pi", g, x, optimize=True)
    target += np.einsum("ipq,qi->pi", precisions, state.estimate) + known.target
    hint = known.hint * np.eye(len(target))
    found = [known.prior.posterior(b[None], A + hint) for b, A in zip(target.T, precisions, strict=True)]
    mean = np.concatenate([one.mean for one in found]).T
    covariances = np.concatenate([one.covariance for one in found])
    reaction = np.einsum("npaqb,nqb->npa", _variances(x, covariances), g)
    mixed = (1.0 - damping) * covariances + damping * state.covariances
    mixed = spectra_clipped(mixed, smallest_variance(known.prior), np.inf)
    return SampleState(
        (1.0 - damping) * mean + damping * state.estimate,
        clip_spectrum(mixed.mean(axis=0), 0.0, np.inf),
        (1.0 - damping) * reaction + damping * state.onsager,
        mixed,
    )


def _pairs(x):
    """The pairs of tokens a <= b with x_a x_b, (N, D), of tokens x (N, M, D)."""
    tokens = x.shape[1]
    return ((a, b, x[:, a] * x[:, b]) for a in range(tokens) for b in range(a, tokens))


def _variances(x, covariances):
    """V_mu (N, P, M, P, M) of tokens x (N, M, D) over sqrt(D) and C_i (D, P, P)."""
    n, tokens, dimension = x.shape
    rows = covariances.shape[1]
    found = np.empty((n, rows, tokens, rows, tokens))
    for a, b, product in _pairs(x):
        found[:, :, a, :, b] = (product @ covariances.reshape(dimension, -1)).reshape(n, rows, rows)
        found[:, :, b, :, a] = found[:, :, a, :, b]
    return found


def _precisions(x, dg):
    """sum_mu sum_ab x_mu,ai x_mu,bi dg_mu,ab (D, P, P) of tokens x (N, M, D) over sqrt(D) and dg (N, P, M, P, M)."""
    n, rows = dg.shape[:2]
    total = np.zeros((x.shape[2], rows, rows))
    for a, b, product in _pairs(x):
        both = dg[:, :, a, :, b] if a == b else dg[:, :, a, :, b] + dg[:, :, b, :, a]
        total += (product.T @ both.reshape(n, -1)).reshape(-1, rows, rows)
    return total


def bounded(precisions, prior: Prior):
    """The precisions (..., P, P) within the range in which weights of the `prior` have a posterior."""
    least = LEAST_SHARE / np.linalg.eigvalsh(prior.covariance)[-1] if prior.gaussian else 0.0
    return spectra_clipped(precisions, -least, 1.0 / SMALLEST_VARIANCE)


def spectra_clipped(matrices, low, high):
    """Symmetric parts of matrices (..., P, P) with their eigenvalues clipped to [low, high]."""
    values, vectors = np.linalg.eigh(0.5 * (matrices + np.swapaxes(matrices, -1, -2)))
    clipped = (vectors * np.clip(values, low, high)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return 0.5 * (clipped + np.swapaxes(clipped, -1, -2))
