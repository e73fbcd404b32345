"""Generalised approximate message passing (GAMP) for sequence multi-index models on one data set.

Per iteration, with X_mu (M x D), omega_mu = X_mu W_hat^T / sqrt(D) - C_hat g_mu,prev (the last is the Onsager term),

    g_mu = g_out(y_mu, omega_mu, V),   A = -1/D sum_mu sum_a dg_mu,aa,   b = sum_mu g_mu X_mu / sqrt(D) + A W_hat,
    W_hat_i = E[w | b_i, A],   C_hat = 1/D sum_i Cov(w | b_i, A),   V = C_hat

(Troiani et al. 2025, arXiv:2502.00901, for standard normal weights: C_hat = (I + A)^-1 and W_hat = C_hat b). The prior gives the
mean and the covariance (`priors`). Side information S = sqrt(kappa) W + sqrt(1-kappa) N adds kappa / (1 - kappa) I to the
precision and sqrt(kappa) / (1 - kappa) S to b. Spikes of the tokens add their second moment to the precision, not to b. The
sums of an iteration leave out the outputs whose channel does not meet its check; `GampRun.resolved` is the smallest fraction of
the others.

The start is a small random estimate, or informed: the posterior mean of an observation of the weights that the iteration does not
see later. The state evolution from the same overlap describes it. An informed start near the teacher shows a fixed point that
message passing does not find by itself (the strong side information of Troiani et al. 2025).

A row k may be held at an overlap q: its estimate stays q W_k + sqrt(q (1 - q)) N and its variance 1 - q. This estimate does
not depend on the data. Therefore its field has no Onsager term, and the other rows need their block of A alone.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.gamp import relaxed, sample_variance
from attention_limits.sequence_multi_index.gamp.messages import (
    SMALLEST_VARIANCE,
    Knowledge,
    State,
    hold,
    informed,
    knowledge,
    outputs,
    overlaps,
    update,
)
from attention_limits.sequence_multi_index.links.link import DIAGONAL_OVERLAP, NORMAL_TOKENS, require
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.priors.prior import Prior

# Recovery counts as exact if all eigenvalues of V are below this number when one of them falls to SMALLEST_VARIANCE.
# The estimate must have settled too, to a larger change than any tolerance: on a small data set V can shrink while it runs away.
RECOVERED, SETTLED = 1e-3, 0.1
# A layer whose estimate is smaller than this, in root mean square, is zero.
NEGLIGIBLE = 1e-5
# Smallest share of the outputs in an iteration whose end counts as convergence.
LEAST_KEPT = 0.5


@dataclass(frozen=True)
class Dataset:
    """Sequences with the outputs of a teacher.

    Attributes
    ----------
    sequences : array (N, M, D)
        X, standard normal, or with the spikes of the link.
    teacher : array (P, D)
        W, drawn from the prior.
    observed : array (N, ...)
        Outputs as `link.observe` gives them.
    """

    sequences: np.ndarray
    teacher: np.ndarray
    observed: np.ndarray


def gaussian_dataset(link, dimension, samples, generator, prior: Prior | None = None) -> Dataset:
    """Draw a teacher and its data: h = W x / sqrt(D), outputs from `link.observe(h)`.

    Parameters
    ----------
    link : Link
    dimension : int
        D.
    samples : int
        N = alpha D, at least one.
    generator : numpy.random.Generator
    prior : Prior, optional
        Law of the teacher, standard normal by default.

    Raises
    ------
    ValueError
        If dimension or samples is below one.
    """
    if dimension < 1 or samples < 1:
        raise ValueError(f"need at least one dimension and one sample, got {dimension} and {samples}")
    teacher = as_prior(prior, link).draw(dimension, generator)
    sequences = generator.standard_normal((samples, link.tokens, dimension))
    noise = generator.standard_normal((samples, link.noise_dimension))
    sequences = with_spikes(link, sequences, teacher, noise)
    fields = np.einsum("pd,nad->npa", teacher, sequences, optimize=True) / np.sqrt(dimension)
    return Dataset(sequences, teacher, link.observe(fields, noise))


def with_spikes(link, sequences, teacher, noise):
    """Sequences (N, M, D) plus sum_p s_pa w_p / sqrt(D) on token a, where the link has spikes s; else the sequences themselves.

    `teacher` (P, D) holds the weights, `noise` (N, noise_dimension) the noise of the outputs.
    """
    if not hasattr(link, "spikes"):
        return sequences
    return sequences + np.einsum("npa,pd->nad", link.spikes(noise), teacher, optimize=True) / np.sqrt(teacher.shape[1])


@dataclass(frozen=True)
class GampRun:
    """Trajectory of GAMP over T iterations (the start is not included).

    Attributes
    ----------
    overlap : array (T, P, P)
        W_hat W^T / D (estimate, teacher).
    norm : array (T, P, P)
        W_hat W_hat^T / D.
    cosine : array (T, P)
        Cosine similarity of each layer's estimate and teacher, signed.
    variance : array (T, P, P)
        V, the covariance of the weights' posterior as GAMP predicts it: with the true prior and channel E w w^T - V = norm.
    weights : array (P, D)
        Last W_hat.
    residual : float
        Largest change of a layer of W_hat in the last iteration, relative to its size (root mean squares).
    converged : bool
        Whether the residual reached the tolerance, or the recovery became exact, with at least half of the outputs in the last
        iteration: an estimate from a few outputs is no fixed point of GAMP.
    resolved : float
        Smallest fraction, over iterations, of samples whose channel met its check.
    """

    overlap: np.ndarray
    norm: np.ndarray
    cosine: np.ndarray
    variance: np.ndarray
    weights: np.ndarray
    residual: float
    converged: bool
    resolved: float


class Settings(Protocol):
    """The settings that GAMP reads; the section `schema.bayes.GampSolver` has them.

    Attributes
    ----------
    max_iterations : int
        Largest number of iterations.
    damping : float
        Weight of the OLD W_hat, V and Onsager term, in [0, 1).
    start_overlap : float
        q_0: W_hat starts as E w plus sqrt(q_0) times noise of the covariance of w, and V as (1 - q_0) Cov(w); the finite size
        breaks the symmetry.
    informed_start : float or None
        Instead, W_hat and V are posterior mean and covariance of W given sqrt(r) W + N, r = q / (1 - q) for this number q: the
        overlap of the start for standard normal weights.
    side_information : float
        kappa in [0, 1).
    regularization : float
        epsilon >= 0, added to the diagonal of V in the channel.
    tolerance : float
        Stop when the relative change of every layer of W_hat falls below it.
    variance : str
        "average": one V and one A, averages over the data; "sample": those of every sample and dimension (`sample_variance`);
        "message": those of every message, relaxed belief propagation (`relaxed`).
    """

    max_iterations: int
    damping: float
    start_overlap: float
    informed_start: float | None
    side_information: float
    regularization: float
    tolerance: float
    variance: str


def run(
    channel: Channel, data: Dataset, generator, settings: Settings, prior: Prior | None = None, held=None
) -> GampRun:
    """Run GAMP from a small random estimate, or from an informed one.

    Parameters
    ----------
    channel : Channel
    data : Dataset
        Of the link of the channel.
    generator : numpy.random.Generator
        For the initial estimate, the side information, and the estimates of held rows.
    settings : Settings
    prior : Prior, optional
        The law of the weights that GAMP assumes, standard normal by default.
    held : array (P,), optional
        Overlaps in [0, 1] at which rows are held, NaN for the rows that are free; only for links that offer DIAGONAL_OVERLAP
        and priors whose rows are independent and of mean zero.

    Raises
    ------
    ValueError
        If rows are held without the symmetry, `held` has not one number in [0, 1] or NaN for each row, or the prior has other
        rows. With another variance than "average" also if rows are held, tokens are not normal, or the law of the weights
        differs between dimensions.
    """
    size, dimension, prior = channel.link.rows, data.teacher.shape[1], as_prior(prior, channel.link)
    # One matrix of all tokens: both products with the data are plain matrix products.
    tokens = data.sequences.reshape(-1, dimension) / np.sqrt(dimension)
    if settings.informed_start is None:
        estimate = prior.start(settings.start_overlap, dimension, generator)
        variance = (1.0 - settings.start_overlap) * prior.covariance
    else:
        estimate, variance = informed(prior, data.teacher, settings.informed_start, generator)
    state = State(estimate, variance, np.zeros((len(data.observed), size, channel.link.tokens)))
    spikes = len(data.observed) / dimension * channel.spikes
    known = knowledge(prior, data.teacher, settings.side_information, generator, spikes)
    free = np.arange(size)
    if held is not None:
        require(channel.link, {DIAGONAL_OVERLAP})
        if prior.sign_symmetry != "rows" or not prior.isotropic:
            raise ValueError(
                "rows can be held for priors of independent rows of mean zero, the same for all dimensions, only"
            )
        state, free = hold(state, data.teacher, held, generator)
        known = Knowledge(prior.subset(free), known.hint, known.target, known.spikes)
    if settings.variance != "average" and held is not None:
        raise ValueError(f"variance: {settings.variance}: allowed where rows are held: average")
    if settings.variance != "average":
        require(channel.link, {NORMAL_TOKENS})
    if settings.variance != "average" and not prior.isotropic:
        raise ValueError(f"variance: {settings.variance}: allowed where dimensions differ in their law: average")
    step = None
    if settings.variance == "sample":
        (state, channel), step = sample_variance.start(state, channel, generator), sample_variance.step
    elif settings.variance == "message":
        state, step = relaxed.start(state), relaxed.step
    path = []
    residual, resolved, converged = np.inf, 1.0, False
    for _ in range(settings.max_iterations):
        if step is not None:
            new, share = step(channel, data.observed, tokens, state, known, settings)
            finite = np.all(np.isfinite(new.estimate))
        else:
            g, derivative, share = outputs(channel, data.observed, tokens, state, settings.regularization)
            finite = np.all(np.isfinite(g)) and np.all(np.isfinite(derivative))
        resolved = min(resolved, share)
        if not finite:
            # The record keeps this state: the trajectory ends with missing values.
            state = State(np.full_like(state.estimate, np.nan), np.full((size, size), np.nan), state.onsager)
            path.append(overlaps(state, data.teacher))
            residual = np.nan
            break
        if step is None:
            new = update(tokens, state, g, derivative, known, settings.damping, free)
        # Relative, layer by layer: a small layer that still grows is the onset of an instability, not convergence.
        change = np.sqrt(np.mean((new.estimate - state.estimate)[free] ** 2, axis=1))
        length = np.sqrt(np.mean(new.estimate[free] ** 2, axis=1))
        residual = float(np.max(change / np.maximum(length, NEGLIGIBLE), initial=0.0))
        state = new
        path.append(overlaps(state, data.teacher))
        spectrum = np.linalg.eigvalsh(state.variance[np.ix_(free, free)])
        at_the_end = spectrum.min(initial=1.0) <= SMALLEST_VARIANCE
        exact = at_the_end and spectrum[-1] <= RECOVERED and residual <= SETTLED
        ended = residual <= settings.tolerance or exact
        converged = bool(ended and share >= LEAST_KEPT)
        if ended or at_the_end or not np.isfinite(residual):
            break
    overlap, norm, variance = (np.array(matrices) for matrices in zip(*path, strict=True))
    lengths = np.einsum("tpp->tp", norm) * np.mean(data.teacher**2, axis=1)
    # An estimate that is zero has no direction.
    with np.errstate(invalid="ignore"):
        cosine = np.einsum("tpp->tp", overlap) / np.sqrt(lengths)
    return GampRun(overlap, norm, cosine, variance, state.estimate, residual, converged, resolved)
