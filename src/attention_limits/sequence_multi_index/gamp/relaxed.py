"""One iteration of relaxed belief propagation, whose expansion in 1 / sqrt(D) is GAMP with the variance of every sample.

A message per sample mu and dimension i. With the means m and covariances c of the messages to sample mu,

    omega_mu->i = sum_(j != i) m_j->mu x_mu,j / sqrt(D),     V_mu->i = 1/D sum_(j != i) c_j->mu kron x_mu,j x_mu,j^T,
    b_i->mu = sum_(nu != mu) g_nu->i x_nu,i / sqrt(D),       A_i->mu = -1/D sum_(nu != mu) sum_ab x_nu,ai x_nu,bi dg_nu->i,ab,
    m_i->mu = E[w | b_i->mu, A_i->mu],                       c_i->mu = Cov(w | b_i->mu, A_i->mu)

(Troiani et al. 2025, arXiv:2502.00901, appendix). The estimate W_hat takes the sums over all samples. An iteration computes N D
posteriors of the fields, D times those of GAMP: this is for links whose output leaves finitely many fields, and Gaussian
weights.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.gamp.messages import Knowledge, State, smallest_variance
from attention_limits.sequence_multi_index.gamp.sample_variance import bounded, finite_moments, spectra_clipped
from attention_limits.sequence_multi_index.links.wrappers import BlockMultiIndex


@dataclass(frozen=True)
class MessageState(State):
    """The messages of one iteration; `estimate` and `variance` are those of the sums over all samples.

    Attributes
    ----------
    means : array (N, D, P)
        m_i->mu.
    covariances : array (N, D, P, P)
        c_i->mu.
    """

    means: np.ndarray
    covariances: np.ndarray


def start(state: State) -> MessageState:
    """The state that starts the iteration: the messages to all samples are the same."""
    count, dimension = len(state.onsager), state.estimate.shape[1]
    means = np.repeat(state.estimate.T[None], count, axis=0)
    covariances = np.broadcast_to(state.variance, (count, dimension, *state.variance.shape)).copy()
    return MessageState(state.estimate, state.variance, state.onsager, means, covariances)


def step(channel: Channel, observed, tokens, state: MessageState, known: Knowledge, settings):
    """The messages after `state`, and the fraction of the messages of samples whose output is resolved.

    `channel` is that of the sequence model; `observed` are the outputs (N, ...), `tokens` the data (N M, D) over sqrt(D), and
    `known` the prior and the side information. `settings` are those of `gamp.run`.
    """
    link = BlockMultiIndex(channel.link)
    count, dimension, rows = state.means.shape
    x = tokens.reshape(count, -1, dimension).transpose(0, 2, 1)
    targets, precisions = np.empty(state.means.shape), np.empty(state.covariances.shape)
    resolved = np.empty(count)
    extra = settings.regularization * np.eye(link.rows)
    for mu in range(count):
        own = np.einsum("dp,da->dpa", state.means[mu], x[mu]).reshape(dimension, -1)
        spread = np.einsum("da,db,dpq->dpaqb", x[mu], x[mu], state.covariances[mu]).reshape(
            dimension, *2 * (link.rows,)
        )
        V = spread.sum(axis=0) - spread + extra
        repeated = np.broadcast_to(observed[mu], (dimension, *np.shape(observed[mu])))
        mean, covariance, there = finite_moments(link, repeated, (own.sum(axis=0) - own)[:, :, None], V)
        inverse = np.linalg.inv(V)
        g = np.where(there[:, None], np.einsum("dij,dj->di", inverse, mean), 0.0).reshape(dimension, rows, -1)
        dg = np.where(there[:, None, None], inverse @ covariance @ inverse - inverse, 0.0)
        targets[mu] = np.einsum("da,dpa->dp", x[mu], g)
        shape = (dimension, rows, x.shape[2], rows, x.shape[2])
        precisions[mu] = -np.einsum("da,db,dpaqb->dpq", x[mu], x[mu], dg.reshape(shape))
        resolved[mu] = there.mean()
    total, precision = targets.sum(axis=0) + known.target.T, precisions.sum(axis=0)
    estimate, marginal = _weights(total, precision, known)
    means, covariances = _weights(total - targets, precision - precisions, known)
    old = settings.damping
    mixed = (1.0 - old) * covariances + old * state.covariances
    new = MessageState(
        estimate.T, marginal.mean(axis=0), state.onsager, (1.0 - old) * means + old * state.means,
        spectra_clipped(mixed, smallest_variance(known.prior), np.inf),
    )  # fmt: skip
    return new, float(resolved.mean())


def _weights(b, precision, known: Knowledge):
    """Means (..., P) and covariances (..., P, P) of Gaussian weights at b (..., P) and precisions (..., P, P)."""
    least = smallest_variance(known.prior)
    prior = np.linalg.inv(known.prior.covariance) + known.hint * np.eye(b.shape[-1])
    covariance = np.linalg.inv(prior + bounded(precision, known.prior))
    return np.einsum("...pq,...q->...p", covariance, b), spectra_clipped(covariance, least, np.inf)
