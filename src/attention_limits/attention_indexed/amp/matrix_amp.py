"""Approximate message passing for the attention matrix S of one data set.

Per iteration, with h of `model.scores.scores`, the gradient G of a channel and the denoiser of `denoisers.wishart`,

    omega = h(S_hat) - 2 V' G_prev,    q_hat = (4/d^2) sum_mu sum_ab G_ab^2,    D = 1 / q_hat,
    R = S_hat + 2 / (d q_hat) sum_mu sum_ab G_ab (x_a x_b^T - delta_ab I) / sqrt(d),
    S_hat = denoised R at noise D,    V = mmse(D),    V' = D `response`,

from S_hat = sqrt(rho) I, V = 1 (Boncoraglio, Troiani, Erba, Zdeborova 2025, arXiv:2506.01582). The sums over samples are in
single precision (`sample_sums`), with one product less for each sequence where the output does not depend on a constant in the
scores. No array has the size n d^2.

Untied attention has the same equations with x_a z_b^T in place of x_a x_b^T - delta_ab I, from S_hat = 0; its denoiser is that of
singular values (`denoisers.product`).

2 V' G_prev is the Onsager term. V' is the mean derivative of the denoiser on the eigenvalues of R. Its limit is V, but R has
corrections of relative order d / n. With V in place of V' errors are too large, and predicted errors even more: 0.45 and 0.51 to
0.53 for linear scores at rho = 0.1, alpha = 0.025, d = 400. V' gives 0.43 and 0.43; the limit is 0.4286.

Damping acts on S_hat, log V and the Onsager term. At d = 100 the plain iteration leaves the state evolution after a few steps. It
converges when it is damped by one half, or more (`schedule`). Steps at the first damping are combined
(`numerics.solvers.anderson`): this saves a third of the iterations, and often far more where r is about ten. If the output
does not depend on the scale of S, only the prior determines the scale, with a relative error sqrt(2 / (r d)). In this case
each iteration gives S_hat the trace sqrt(rho) d of the prior mean; in the limit S_hat has this trace by itself. Untied
attention has no trace that fixes the scale.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from attention_limits.attention_indexed.amp.sample_sums import all_scores, backward, shifted_backward, shifted_scores
from attention_limits.attention_indexed.amp.schedule import Schedule, Settings
from attention_limits.attention_indexed.channels.protocol import Posterior
from attention_limits.attention_indexed.model.scores import draw_sequences, effective_side
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.priors.prior import Prior
from attention_limits.attention_indexed.priors.wishart import Wishart
from attention_limits.numerics.solvers.anderson import Acceleration

# A predicted error below this is exact recovery.
RECOVERED = 1e-6
# Smallest mean eigenvalue of the prior whose trace gives the scale of S.
_SCALE = 0.1
# The iteration has diverged when the variance of the outputs about omega exceeds that without data by this factor.
_DIVERGED = 2.0


@dataclass(frozen=True)
class Dataset:
    """Sequences with the outputs of a teacher.

    Attributes
    ----------
    sequences : array (n, M, d)
        X, standard normal, in single precision.
    teacher : array (d, d) or (L, d, d)
        S, of each of L layers.
    observed : array (n, ...)
        Outputs as `channel.observe` gives them, or `model.observed` of several layers.
    prior : prior.Prior
        The law of S.
    keys : array (n, M, d) or None
        Z, the tokens of the keys; None where they are those of the queries, X. Their dimension may be another one.
    """

    sequences: np.ndarray
    teacher: np.ndarray
    observed: np.ndarray
    prior: Prior
    keys: np.ndarray | None = None


def draw_dataset(channel: Posterior, size: Sizes, generator, prior: Prior | None = None) -> Dataset:
    """A teacher of the `prior` and its data, from the numpy.random.Generator `generator`.

    Without a prior it is the Wishart law of the realised width ratio r/d.

    Raises ValueError if the channel has no posterior mean, if only one of channel and prior is symmetric, or a size is below one.
    """
    _require_posterior(channel)
    prior = Wishart(size.rank / size.dimension) if prior is None else prior
    if channel.law.symmetric != prior.symmetric:
        raise ValueError(f"{channel} and {prior}: scores are symmetric if and only if S is")
    teacher = prior.draw(size, generator)
    shape = size.count, channel.tokens
    sequences = draw_sequences(*shape, teacher.shape[0], generator, np.float32)
    keys = None if prior.symmetric else draw_sequences(*shape, teacher.shape[1], generator, np.float32)
    observed = channel.observe(all_scores(sequences, teacher, keys), generator)
    return Dataset(sequences, teacher, observed, prior, keys)


def _require_posterior(channel):
    if not hasattr(channel, "gradient"):
        raise ValueError(f"{channel}: message passing needs a channel with a posterior mean")


def refine(
    sequences, estimate, G, q_hat: float, prior: Prior, keys=None, shift_free: bool = False
) -> tuple[np.ndarray, float, float]:
    """The new S_hat (d, d), not damped, its predicted error V, and V'.

    Parameters
    ----------
    sequences : array (n, M, d)
    estimate : array (d, d)
        The old S_hat.
    G : array (n, M, M)
        Gradients of the channel.
    q_hat : float
        Precision 1 / D.
    prior : prior.Prior
        The law of S.
    keys : array (n, M, d) or None
        As in `Dataset`.
    shift_free : bool
        Whether the sum of all G_ab of a sequence is zero; only without keys.
    """
    step = shifted_backward(sequences, G) if shift_free else backward(sequences, G, keys)
    step *= 2.0 / (effective_side(estimate) * q_hat)
    step += estimate
    denoised, response = prior.denoise(step, 1.0 / q_hat)
    return denoised, float(prior.mmse(1.0 / q_hat)), response / q_hat


@dataclass(frozen=True)
class AmpRun:
    """Trajectory over t iterations (the start is not included); with L layers there is another axis (L,).

    Attributes
    ----------
    error : array (t,)
        ||S - S_hat||_F^2 / d.
    variance : array (t,)
        V, the error that the algorithm predicts.
    residual : array (t,)
        ||S_new - S_hat||_F / sqrt(d V) of the step before it is damped: its size in units of the predicted error, the largest of
        all layers.
    estimate : array (d, d)
        S_hat of the iteration `best`.
    best : int
        Number of the iteration that counts, from 0: the last one of a run that converged or diverged, otherwise that of the
        smallest residual.
    converged : bool
        Whether the residual reached the tolerance, or all predicted errors exact recovery. A run that ended before
        `max_iterations` and neither converged nor diverged has stagnated, or drifted away from an unstable fixed point
        (`schedule`).
    diverged : bool
        Whether numbers were not finite, or the outputs were further from their prediction than without data. The trajectory ends
        at that iteration.
    resolved : float
        Smallest fraction, over the iterations, of outputs whose posterior the channel resolved.
    """

    error: np.ndarray
    variance: np.ndarray
    residual: np.ndarray
    estimate: np.ndarray
    best: int
    converged: bool
    diverged: bool
    resolved: float

    def end(self) -> dict:
        """Variables of the iteration that counts and of the whole run, by the names that all estimators share."""
        return {
            "residual": self.residual[self.best],
            "iterations": len(self.residual),
            "converged": self.converged,
            "diverged": self.diverged,
            "resolved": self.resolved,
        }


class Step(NamedTuple):
    """An undamped step of all L layers.

    Attributes
    ----------
    resolved : float
        Fraction of outputs whose posterior the channel resolved.
    estimate : array (d, d) or (L, d, d), or None
        S_hat; None where the iteration has diverged, and the other values do not count.
    predicted : float or array (L,)
        V of each layer.
    onsager : array (n, M, M) or (n, L, M, M)
        2 V' G.
    residual : float
        As in `AmpRun`.
    """

    resolved: float
    estimate: np.ndarray | None = None
    predicted: float | np.ndarray = math.nan
    onsager: np.ndarray | None = None
    residual: float = math.nan


def iterate(
    advance: Callable[..., Step], data: Dataset, schedule: Schedule, recovered: float, start: tuple | None = None
) -> AmpRun:
    """The damped iteration of one layer or of several, whose teachers have the same prior.

    Parameters
    ----------
    advance : callable
        The undamped step after S_hat, V and the Onsager term, of the shapes of `Step`.
    data : Dataset
    schedule : Schedule
    recovered : float
        Predicted error below which S is exactly known.
    start : tuple (estimate, V), optional
        First S_hat and V, of the shapes of `Step`; by default the prior mean and one.
    """
    teacher, layers = data.teacher, data.teacher.shape[:-2]
    dimension, (count, tokens) = effective_side(teacher), data.sequences.shape[:2]
    mean = np.broadcast_to(data.prior.mean * np.eye(*teacher.shape[-2:]), teacher.shape).copy()
    (estimate, variance), onsager = start or (mean, np.ones(layers)), np.zeros((count, *layers, tokens, tokens))
    best = estimate
    acceleration = Acceleration((estimate.shape, onsager.shape, layers), (1.0 / dimension, 1.0 / count, 0.0))
    # math and numpy differ in the last bit, and results are compared by their bits.
    log, exp = (np.log, np.exp) if layers else (math.log, math.exp)
    errors, variances, residuals, resolved, diverged = [], [], [], 1.0, False
    while not schedule.finished:
        found = advance(estimate, variance, onsager)
        resolved = min(resolved, found.resolved)
        diverged = found.estimate is None
        residuals.append(found.residual)
        if diverged:
            errors.append(np.full(layers, np.nan)), variances.append(np.full(layers, np.nan))
            break
        state, new = (estimate, onsager, log(variance)), (found.estimate, found.onsager, log(found.predicted))
        estimate, onsager, logarithm = acceleration.step(state, new, schedule.damping, found.residual)
        variance = exp(logarithm)
        errors.append(np.sum((teacher - estimate) ** 2, axis=(-2, -1)) / dimension)
        variances.append(variance)
        largest = float(np.max(variance))
        schedule.note(found.residual, largest, largest <= recovered)
        if schedule.best == len(errors) - 1:
            best = estimate
    reached = len(errors) - 1 if diverged else schedule.best
    return AmpRun(
        np.array(errors), np.array(variances), np.array(residuals), estimate if diverged else best, reached,
        schedule.converged, diverged, resolved,
    )  # fmt: skip


def run(channel: Posterior, data: Dataset, settings: Settings) -> AmpRun:
    """Iterate until the residual falls below the tolerance, or without progress.

    Parameters
    ----------
    channel : Posterior
    data : Dataset
    settings : schedule.Settings

    Raises
    ------
    ValueError
        If the channel has no posterior mean, or a setting is out of its range.
    """
    _require_posterior(channel)
    schedule = Schedule(settings.max_iterations, settings.damping, settings.tolerance)
    return iterate(partial(_advance, channel, data), data, schedule, RECOVERED)


def _advance(channel, data, estimate, variance, onsager):
    """The `Step` of one layer."""
    sequences, keys, prior = data.sequences, data.keys, data.prior
    # Then omega is determined up to a constant of each sequence.
    shift_free = channel.shift_free and keys is None
    omega = shifted_scores(sequences, estimate) if shift_free else all_scores(sequences, estimate, keys)
    omega -= onsager
    # The variance that the outputs determine, if they do: at finite size it is better than its limit.
    measured = channel.variance(data.observed, omega)
    used = float(variance) if measured is None else measured
    if not 0 < used < _DIVERGED * prior.Q:
        return Step(1.0)
    dimension, found = effective_side(estimate), channel.gradient(data.observed, omega, used)
    q_hat = 4.0 * found.power * len(sequences) / dimension**2
    if not (np.isfinite(q_hat) and q_hat > 0):
        return Step(found.resolved)
    denoised, predicted, own = refine(sequences, estimate, found.G, q_hat, prior, keys, shift_free)
    if channel.scale_free and prior.mean > _SCALE:
        denoised *= prior.mean * dimension / np.trace(denoised)
    residual = float(np.linalg.norm(denoised - estimate) / math.sqrt(dimension * predicted))
    return Step(found.resolved, denoised, predicted, 2.0 * own * found.G, residual)
