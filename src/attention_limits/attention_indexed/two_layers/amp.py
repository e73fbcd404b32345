"""Matrix AMP for two attention layers: `matrix_amp` for both layers at once, coupled through the channel of `softmax`.

Per iteration and layer l, with S~_l = S_hat_l - (tr S_hat_l / d) I,

    omega_l = h(S~_l) - 2 V'_l G_l,prev,    q_hat_l = (2/d^2) sum_mu (D - spread_l,mu) / (s_l V_l),

then S_hat_l, V_l and V'_l from G_l and q_hat_l as for one layer (derived for this project).

The prior variance of the channel is s_l V_l. At its true value the mean of |z_l|^2 + spread_l over the samples is D (Nishimori).
At finite d the errors exceed V_l near exact recovery; with s_l = 1 the iteration then predicts a recovery that it does not reach.
Each iteration multiplies s_l by this mean over D, a step of expectation maximisation for the variance, and keeps s_l at least
one.
"""

import math
from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.amp.matrix_amp import refine
from attention_limits.attention_indexed.amp.sample_sums import all_scores
from attention_limits.attention_indexed.amp.schedule import Schedule
from attention_limits.attention_indexed.model.scores import draw_sequences, draw_weights
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.two_layers.state_evolution import RECOVERED, Model
from attention_limits.numerics.solvers.anderson import Acceleration


@dataclass(frozen=True)
class Dataset:
    """Sequences with the outputs of two layers.

    Attributes
    ----------
    sequences : array (n, T, d)
        X, standard normal.
    teachers : array (2, d, d)
        S_1 and S_2.
    observed : array (n, ...)
        Outputs as `model.scores.observed` gives them.
    ratio : float
        r/d.
    """

    sequences: np.ndarray
    teachers: np.ndarray
    observed: np.ndarray
    ratio: float


def draw_dataset(model: Model, size: Sizes, generator) -> Dataset:
    """Two teachers of `model` and their data, from the numpy.random.Generator `generator`.

    Raises ValueError if a size is below one.
    """
    teachers = np.stack([draw_weights(size.dimension, size.rank, generator)[1] for _ in range(model.layers)])
    sequences = draw_sequences(size.count, model.tokens, size.dimension, generator, np.float32)
    observed = model.observed(*(all_scores(sequences, traceless(S)) for S in teachers))
    return Dataset(sequences, teachers, observed, size.rank / size.dimension)


def traceless(matrix):
    """S - (tr S / d) I of `matrix` S (d, d)."""
    return matrix - np.trace(matrix) / len(matrix) * np.eye(len(matrix))


@dataclass(frozen=True)
class TwoLayerRun:
    """Trajectory over t iterations (the start is not included).

    Attributes
    ----------
    error : array (t, 2)
        ||S_l - S_hat_l||_F^2 / d.
    variance : array (t, 2)
        V_l, the errors that the algorithm predicts.
    residual : array (t,)
        Larger of ||S_hat_l - S_prev,l||_F / sqrt(d V_l), of undamped steps.
    estimate : array (2, d, d)
        S_hat_l of the iteration `best`.
    best : int
        Number of the iteration that counts, from 0: the last one of a run that converged or ended with a NaN, otherwise that of
        the smallest residual.
    resolved : float
        Smallest fraction, over the iterations, of outputs whose quadrature met its check.
    converged : bool
        Whether the residual reached the tolerance, or the larger predicted error `RECOVERED`.
    diverged : bool
        Whether numbers were not finite, where the trajectory ends, or the estimate of a layer is too large: a posterior mean
        has ||S_hat||_F^2 / d <= 1 + rho in the limit, and an estimate with twice as much is no posterior mean.
    """

    error: np.ndarray
    variance: np.ndarray
    residual: np.ndarray
    estimate: np.ndarray
    best: int
    resolved: float
    converged: bool
    diverged: bool


def run(
    model: Model, data: Dataset, max_iterations: int = 1500, damping: float = 0.5, tolerance: float = 2e-3
) -> TwoLayerRun:
    """Iterate on the `data` of a `model` until the residual falls below `tolerance`, or without progress.

    `max_iterations`, `damping`, `tolerance` and the ValueError raised as in `matrix_amp.run`.
    """
    schedule = Schedule(max_iterations, damping, tolerance)
    count, dimension = len(data.sequences), data.teachers.shape[1]
    estimates = np.stack([math.sqrt(data.ratio) * np.eye(dimension)] * 2)
    best_estimates = estimates
    V, scale, onsager = np.ones(2), np.ones(2), np.zeros((count, 2, model.tokens, model.tokens))
    acceleration = Acceleration((estimates.shape, onsager.shape, (2,)), (1.0 / dimension, 1.0 / count, 0.0))
    errors, variances, residuals, resolved = [], [], [], 1.0
    diverged = False
    while not schedule.finished:
        omega = np.stack([all_scores(data.sequences, traceless(S)) for S in estimates], axis=1) - onsager
        used = scale * V
        _, z, spread, sound = model.posterior(data.observed, model.contrasts(omega), used)
        scale = np.maximum(1.0, scale * (np.mean(np.sum(z**2, axis=2), axis=0) + spread.mean(axis=0)) / model.size)
        resolved = min(resolved, float(np.mean(sound)))
        G = model.slopes(z, used)
        # From the posterior variances. The mean of G^2 has the same expectation, but where the finite size makes V too small,
        # it is too large and makes V smaller still.
        q_hat = 2.0 * (model.size - spread.mean(axis=0)) / used * count / dimension**2
        diverged = not np.all(np.isfinite(q_hat) & (q_hat > 0))
        if diverged:
            errors.append(np.full(2, np.nan)), variances.append(np.full(2, np.nan)), residuals.append(np.nan)
            break
        new, predicted, own = np.empty_like(estimates), np.empty(2), np.empty(2)
        for layer in range(2):
            found = refine(data.sequences, estimates[layer], G[:, layer], q_hat[layer], data.ratio)
            new[layer], predicted[layer], own[layer] = found
        change = np.linalg.norm(new - estimates, axis=(1, 2)) / np.sqrt(dimension * predicted)
        state, new = (estimates, onsager, np.log(V)), (new, 2.0 * own[:, None, None] * G, np.log(predicted))
        estimates, onsager, logarithm = acceleration.step(state, new, schedule.damping, float(change.max()))
        V = np.exp(logarithm)
        errors.append(np.sum((data.teachers - estimates) ** 2, axis=(1, 2)) / dimension)
        variances.append(V), residuals.append(float(change.max()))
        schedule.note(residuals[-1], float(V.max()), bool(V.max() <= RECOVERED))
        if schedule.best == len(errors) - 1:
            best_estimates = estimates
    best = len(errors) - 1 if diverged else schedule.best
    size = np.sum(best_estimates**2, axis=(1, 2))
    diverged = diverged or bool(size.max() > 2.0 * (1.0 + data.ratio) * dimension)
    converged = schedule.converged and not diverged
    return TwoLayerRun(
        np.array(errors), np.array(variances), np.array(residuals), best_estimates, best, resolved, converged, diverged
    )
