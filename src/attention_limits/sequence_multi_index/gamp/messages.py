"""One iteration of GAMP: from the messages of the weights to the outputs and back.

`gamp` states the equations (Troiani et al. 2025, arXiv:2502.00901, for standard normal weights).
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.channels.posterior import denoiser
from attention_limits.sequence_multi_index.priors.overlaps import LARGEST_OVERLAP, clip_spectrum
from attention_limits.sequence_multi_index.priors.prior import Prior

# The iteration stops once an eigenvalue of V falls to this number: the channel is a delta function.
SMALLEST_VARIANCE = 1e-7
# Discrete weights of a row may be right while another row is not learned yet: then V of the first stays at this number, which the
# channel still resolves, and the iteration goes on.
SMALLEST_OF_DISCRETE = 1e-5


@dataclass(frozen=True)
class State:
    """The messages of one iteration.

    Attributes
    ----------
    estimate : array (P, D)
        W_hat, the posterior mean of the weights.
    variance : array (P, P)
        V, the posterior covariance of the weights of one dimension.
    onsager : array (N, P, M)
        The Onsager term of every sample, which is subtracted from its fields.
    """

    estimate: np.ndarray
    variance: np.ndarray
    onsager: np.ndarray


@dataclass(frozen=True)
class Knowledge:
    """Everything that is known besides the data: the prior and the side information.

    Attributes
    ----------
    prior : Prior
        The law of the weights.
    hint : float
        kappa / (1 - kappa), the precision of the side information on every weight; zero without it.
    target : array (P, D)
        sqrt(kappa) / (1 - kappa) S, the part of b from the side information S.
    spikes : array (P, P)
        n / D times the second moment of the spikes of the tokens (`Channel.spikes`), a part of the precision but not of b.
    """

    prior: Prior
    hint: float
    target: np.ndarray
    spikes: np.ndarray


def knowledge(prior: Prior, teacher, side_information, generator, spikes) -> Knowledge:
    """The prior, with the side information S = sqrt(kappa) W + sqrt(1 - kappa) N of weights W = `teacher` (P, D).

    `side_information` is kappa; `generator` draws N; `spikes` as in `Knowledge`.
    """
    if side_information == 0:
        return Knowledge(prior, 0.0, np.zeros(teacher.shape), spikes)
    noise = generator.standard_normal(teacher.shape)
    side = np.sqrt(side_information) * teacher + np.sqrt(1.0 - side_information) * noise
    hint = side_information / (1.0 - side_information)
    return Knowledge(prior, hint, np.sqrt(side_information) / (1.0 - side_information) * side, spikes)


def informed(prior: Prior, teacher, overlap, generator) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean (P, D) and covariance (P, P) of the weights W given sqrt(r) W + N, r = q / (1 - q).

    `teacher` is W (P, D), of the law `prior`; `overlap` is q in (0, 1), the overlap of the mean for standard normal weights;
    `generator` draws N.
    """
    q = min(overlap, LARGEST_OVERLAP)
    precision = q / (1.0 - q)
    observed = precision * teacher + np.sqrt(precision) * generator.standard_normal(teacher.shape)
    mean, covariance = prior.denoise(observed, precision * np.eye(prior.rows))
    return mean, clip_spectrum(covariance, smallest_variance(prior), np.inf)


def smallest_variance(prior: Prior):
    """Smallest eigenvalue of V for a `prior`: the iteration ends at SMALLEST_VARIANCE, except for discrete weights."""
    return SMALLEST_OF_DISCRETE if np.isfinite(prior.entropy) else 0.5 * SMALLEST_VARIANCE


def hold(state: State, teacher, held, generator) -> tuple[State, np.ndarray]:
    """The state with the rows that are held at the overlaps `held` (P,), NaN for free rows, and the numbers of the free rows.

    `teacher` holds the weights (P, D); `generator` draws the noise of the estimates. ValueError unless there are P numbers
    in [0, 1] or NaN.
    """
    overlaps = np.asarray(held, dtype=float)
    if overlaps.shape != (len(teacher),) or np.any((overlaps < 0) | (overlaps > 1)):
        raise ValueError(f"held must be an overlap in [0, 1] or NaN for each of {len(teacher)} rows, got {held}")
    estimate, variance = state.estimate.copy(), state.variance.copy()
    for row in np.flatnonzero(np.isfinite(overlaps)):
        q = min(overlaps[row], LARGEST_OVERLAP)
        estimate[row] = q * teacher[row] + np.sqrt(q * (1.0 - q)) * generator.standard_normal(teacher.shape[1])
        variance[row, row] = 1.0 - q
    return State(estimate, variance, state.onsager), np.flatnonzero(np.isnan(overlaps))


def outputs(channel, observed, tokens, state, regularization):
    """g (N, P, M) and the sum of dg over tokens (N, P, P), zero where the channel is not resolved, and the resolved fraction.

    `observed` are the outputs (N, ...), `tokens` the data (N M, D) over sqrt(D), `state` the current messages.
    `regularization` is epsilon, which is added to the diagonal of V.
    """
    size = channel.link.rows
    V = state.variance + regularization * np.eye(size)
    fields = (tokens @ state.estimate.T).reshape(-1, channel.link.tokens, size).transpose(0, 2, 1)
    moments = channel.posterior(observed, fields - state.onsager, V)
    estimates, derivative = denoiser(moments, V)
    # An output whose sampling has collapsed would move the estimate at random: this iteration leaves it out.
    g = np.where(moments.resolved[:, None, None], estimates.mean(axis=0), 0.0)
    return g, np.where(moments.resolved[:, None, None], derivative, 0.0), float(moments.resolved.mean())


def update(tokens, state: State, g, derivative, known: Knowledge, damping, free) -> State:
    """The messages after `state`; the rows that are not in `free` stay as they are, and `known.prior` is that of the free rows.

    `tokens` as in `outputs`, which gives `g` and `derivative`; `damping` is the weight of the old messages.
    """
    dimension = state.estimate.shape[1]
    block = np.ix_(free, free)
    information = known.spikes[block] - derivative.sum(axis=0)[block] / dimension
    # On a finite sample the information may be slightly indefinite; V must stay positive and below that of the prior.
    information = clip_spectrum(information, 0.0, 1.0 / SMALLEST_VARIANCE)
    fields = g[:, free].transpose(1, 0, 2).reshape(len(free), len(tokens))
    curvature = information - known.spikes[block]
    target = fields @ tokens + curvature @ state.estimate[free] + known.target[free]
    mean, covariance = known.prior.denoise(target, information, known.hint, 1.0 - damping)
    estimate, variance, onsager = state.estimate.copy(), state.variance.copy(), np.zeros_like(state.onsager)
    estimate[free] = mean + damping * state.estimate[free]
    mixed = (1.0 - damping) * covariance + damping * state.variance[block]
    largest = np.linalg.eigvalsh(known.prior.covariance).max(initial=0.0)
    variance[block] = clip_spectrum(mixed, smallest_variance(known.prior), largest)
    # The contribution of each sample to the (damped) estimate, which its field must not contain.
    reaction = np.einsum("pq,nqa->npa", covariance, g[:, free])
    onsager[:, free] = (1.0 - damping) * reaction + damping * state.onsager[:, free]
    return State(estimate, variance, onsager)


def overlaps(state: State, teacher):
    """W_hat W^T / D, W_hat W_hat^T / D and V, each (P, P), of a state and the weights W = `teacher` (P, D)."""
    dimension = teacher.shape[1]
    return state.estimate @ teacher.T / dimension, state.estimate @ state.estimate.T / dimension, state.variance
