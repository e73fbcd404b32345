"""Approximate message passing for the attention matrix S of one data set.

Per iteration, with h of `model.scores`, the gradient G of a channel and the denoiser of `denoiser`,

    omega = h(S_hat) - 2 V' G_prev,    q_hat = (4/d^2) sum_mu sum_ab G_ab^2,    D = 1 / q_hat,
    R = S_hat + 2 / (d q_hat) sum_mu sum_ab G_ab (x_a x_b^T - delta_ab I) / sqrt(d),
    S_hat = denoised R at noise D,    V = mmse(D),    V' = D `response`,

from S_hat = sqrt(rho) I, V = 1 (Boncoraglio, Troiani, Erba, Zdeborova 2025, arXiv:2506.01582). The sums over samples are two
products of the n T x d matrix of all tokens with d columns, in pieces that stay in the cache; nothing of the size of n d^2 is
made.

V' is the mean derivative of the denoiser on the eigenvalues of R as they are. Its limit is V; but R has corrections of relative
order d / n, and with V in place of V' errors come out too large, and predictions more so: .45 and .51 to .53 for linear scores at
rho = .1, alpha = .025, d = 400, where V' gives .43 and .43, and the limit is .4286.

Damping acts on S_hat, V and the reaction 2 V' G. At d = 100 the plain iteration leaves the state evolution after a few steps;
damped by one half it settles, or where it does not, damped more (`schedule`). Outputs that do not depend on the scale of S
leave it to the prior, which holds it to a relative error sqrt(2 / (r d)) only: there S_hat is given the trace sqrt(rho) d of
the prior mean in each iteration, which in the limit it has by itself.
"""

import math
from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.channel import Channel
from attention_limits.attention_indexed.denoiser import mmse, response, shrink
from attention_limits.attention_indexed.model import draw_sequences, draw_weights, scores
from attention_limits.attention_indexed.schedule import Schedule

# Tokens at a time.
_ROWS = 2048
# A predicted error below this is exact recovery.
RECOVERED = 1e-8
# Outputs further from omega than so many times what they would be without any data: the iteration has diverged.
_DIVERGED = 2.0


@dataclass(frozen=True)
class Dataset:
    """Sequences with the outputs of a teacher.

    Attributes
    ----------
    sequences : array (n, T, d)
        X, standard normal.
    teacher : array (d, d)
        S.
    observed : array (n, ...)
        Outputs as `channel.observe` gives them.
    ratio : float
        r/d.
    """

    sequences: np.ndarray
    teacher: np.ndarray
    observed: np.ndarray
    ratio: float


def draw_dataset(channel: Channel, rank: int, dimension: int, count: int, generator) -> Dataset:
    """A teacher and its data.

    Parameters
    ----------
    channel : Channel
    rank, dimension, count : int
        r, d and n.
    generator : numpy.random.Generator

    Raises
    ------
    ValueError
        If a size is below one.
    """
    _, teacher = draw_weights(dimension, rank, generator)
    sequences = draw_sequences(count, channel.tokens, dimension, generator)
    return Dataset(sequences, teacher, channel.observe(fields(sequences, teacher)), rank / dimension)


def fields(sequences: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """`model.scores` (n, T, T) of all sequences X (n, T, d) and symmetric `matrix` (d, d), without an array of the size of X."""
    tokens = sequences.shape[1]
    result = np.empty((len(sequences), tokens, tokens))
    for part in _pieces(sequences):
        result[part] = scores(sequences[part], matrix)
    return result


def backward(sequences: np.ndarray, G: np.ndarray) -> np.ndarray:
    """sum_mu sum_ab G_ab (x_a x_b^T - delta_ab I) / sqrt(d), (d, d), of `sequences` X (n, T, d) and symmetric G (n, T, T)."""
    dimension = sequences.shape[2]
    total = np.zeros((dimension, dimension))
    for part in _pieces(sequences):
        x = sequences[part]
        total += x.reshape(-1, dimension).T @ (G[part] @ x).reshape(-1, dimension)
    total[np.diag_indices(dimension)] -= np.einsum("naa->", G)
    return (total + total.T) / (2.0 * math.sqrt(dimension))


def refine(sequences, estimate, G, q_hat: float, ratio: float) -> tuple[np.ndarray, float, float]:
    """The new S_hat (d, d), not damped, its predicted error V, and V'.

    Parameters
    ----------
    sequences : array (n, T, d)
    estimate : array (d, d)
        The old S_hat.
    G : array (n, T, T)
        Gradients of the channel.
    q_hat, ratio : float
        Precision 1 / D, and rho = r/d.
    """
    step = backward(sequences, G)
    step *= 2.0 / (len(estimate) * q_hat)
    step += estimate
    eigenvalues, vectors = np.linalg.eigh(step)
    xi, slope = shrink(eigenvalues, ratio, 1.0 / q_hat)
    predicted = float(mmse(ratio, 1.0 / q_hat))
    return (vectors * xi) @ vectors.T, predicted, response(eigenvalues, xi, slope) / q_hat


def _pieces(sequences):
    size = max(1, _ROWS // sequences.shape[1])
    return (slice(first, first + size) for first in range(0, len(sequences), size))


@dataclass(frozen=True)
class AmpRun:
    """Trajectory over t iterations (the start is not included).

    Attributes
    ----------
    error : array (t,)
        ||S - S_hat||_F^2 / d.
    variance : array (t,)
        V, the error that the algorithm predicts.
    residual : array (t,)
        ||S_new - S_hat||_F / sqrt(d V) of the step before it is damped: its size in units of the predicted error.
    eigenvalues : array (d,)
        Of the last S_hat, ascending.
    converged : bool
        Whether the residual reached the tolerance, or the predicted error `RECOVERED`; if it did not, and neither diverged nor
        did all iterations, it stagnated (`schedule`).
    diverged : bool
        Whether the iteration was stopped because numbers were not finite, or the outputs further from their prediction than
        without data. The trajectory ends with the iteration in which this was seen.
    """

    error: np.ndarray
    variance: np.ndarray
    residual: np.ndarray
    eigenvalues: np.ndarray
    converged: bool
    diverged: bool


def run(
    channel: Channel, data: Dataset, max_iterations: int = 2000, damping: float = 0.5, tolerance: float = 2e-3
) -> AmpRun:
    """Iterate until the residual falls below the tolerance, or without progress.

    Parameters
    ----------
    channel : Channel
    data : Dataset
    max_iterations : int
        Largest number, at least one.
    damping : float
        Weight of the OLD iterate at first, in [0, 1); raised where there is no progress.
    tolerance : float
        Largest residual of an undamped step at which the iteration stops.

    Raises
    ------
    ValueError
        If a parameter is out of its range.
    """
    schedule = Schedule(max_iterations, damping, tolerance)
    dimension, count = len(data.teacher), len(data.sequences)
    estimate = math.sqrt(data.ratio) * np.eye(dimension)
    variance, reaction = 1.0, np.zeros((count, channel.tokens, channel.tokens))
    errors, variances, residuals = [], [], []
    diverged = False
    while not schedule.finished:
        omega = fields(data.sequences, estimate)
        omega -= reaction
        # Where the outputs themselves tell the distance of omega, the finite size asks for the actual one.
        told = channel.variance(data.observed, omega)
        used = variance if told is None else told
        diverged = not 0 < used < _DIVERGED * (1.0 + data.ratio)
        if not diverged:
            found = channel.score(data.observed, omega, used)
            q_hat = 4.0 * found.power * count / dimension**2
            diverged = not (np.isfinite(q_hat) and q_hat > 0)
        if diverged:
            errors.append(np.nan), variances.append(np.nan), residuals.append(np.nan)
            break
        denoised, predicted, own = refine(data.sequences, estimate, found.G, q_hat, data.ratio)
        if channel.scale_free:
            denoised *= math.sqrt(data.ratio) * dimension / np.trace(denoised)
        residual = float(np.linalg.norm(denoised - estimate) / math.sqrt(dimension * predicted))
        damping = schedule.damping
        estimate = (1.0 - damping) * denoised + damping * estimate
        variance = (1.0 - damping) * predicted + damping * variance
        reaction = (1.0 - damping) * 2.0 * own * found.G + damping * reaction
        errors.append(float(np.sum((data.teacher - estimate) ** 2) / dimension))
        variances.append(variance), residuals.append(residual)
        schedule.note(residual, variance <= RECOVERED)
    eigenvalues = np.linalg.eigvalsh(estimate)
    return AmpRun(np.array(errors), np.array(variances), np.array(residuals), eigenvalues, schedule.converged, diverged)
