"""Generalised approximate message passing (GAMP) for sequence multi-index models on one data set.

Per iteration, with X_mu (M x D), omega_mu = X_mu W_hat^T / sqrt(D) - C_hat g_mu,prev (the last is the Onsager term),

    g_mu = g_out(y_mu, omega_mu, V),   A = -1/D sum_mu sum_a dg_mu,aa,   b = sum_mu g_mu X_mu / sqrt(D) + A W_hat,
    C_hat = (I + A)^-1,   W_hat = C_hat b,   V = C_hat

(Gaussian prior of unit variance; Troiani et al. 2025, arXiv:2502.00901). Side information S = sqrt(lambda) W + sqrt(1-lambda) N
adds lambda / (1 - lambda) I to the precision and sqrt(lambda) / (1 - lambda) S to b. In an iteration, outputs whose channel
does not meet its check are left out of the sums; `GampRun.resolved` is the smallest fraction of the others.

A row k may be held at an overlap q: its estimate stays q W_k + sqrt(q (1 - q)) N and its variance 1 - q. This estimate does
not depend on the data. Therefore its field has no Onsager term, and the other rows need their block of A alone.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.channel import Channel, denoiser
from attention_limits.sequence_multi_index.links.link import DIAGONAL_OVERLAP, require
from attention_limits.sequence_multi_index.overlap_coordinates import LARGEST_OVERLAP, clip_spectrum

# The iteration stops once an eigenvalue of V falls to the first: the channel is a delta function. Recovery counts as exact if the
# others are below the second then.
SMALLEST_VARIANCE = 1e-7
RECOVERED = 1e-3
# A layer whose estimate is smaller than this, in root mean square, is zero.
NEGLIGIBLE = 1e-5


@dataclass(frozen=True)
class Dataset:
    """Sequences with the outputs of a teacher.

    Attributes
    ----------
    sequences : array (N, M, D)
        X, standard normal.
    teacher : array (P, D)
        W, standard normal.
    observed : array (N, ...)
        Outputs as `link.observe` gives them.
    """

    sequences: np.ndarray
    teacher: np.ndarray
    observed: np.ndarray


def gaussian_dataset(link, dimension, samples, generator) -> Dataset:
    """Draw a teacher and its data: h = W x / sqrt(D), outputs from `link.observe(h)`.

    Parameters
    ----------
    link : Link
    dimension : int
        D.
    samples : int
        N = alpha D, at least one.
    generator : numpy.random.Generator

    Raises
    ------
    ValueError
        If dimension or samples is below one.
    """
    if dimension < 1 or samples < 1:
        raise ValueError(f"need at least one dimension and one sample, got {dimension} and {samples}")
    teacher = generator.standard_normal((link.rows, dimension))
    sequences = generator.standard_normal((samples, link.tokens, dimension))
    fields = np.einsum("pd,nad->npa", teacher, sequences, optimize=True) / np.sqrt(dimension)
    noise = generator.standard_normal((samples, link.noise_dimension))
    return Dataset(sequences, teacher, link.observe(fields, noise))


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
        V, the covariance of the weights' posterior as GAMP predicts it: Bayes-optimally, I - V = norm.
    weights : array (P, D)
        Last W_hat.
    residual : float
        Largest change of a layer of W_hat in the last iteration, relative to its size (root mean squares).
    converged : bool
        Whether the residual reached the tolerance, or the recovery became exact.
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


@dataclass(frozen=True)
class Settings:
    """How GAMP runs, and the variant of the model.

    Attributes
    ----------
    max_iterations : int
        Largest number of iterations.
    damping : float
        Weight of the OLD W_hat, V and Onsager term, in [0, 1).
    start_overlap : float
        q_0: W_hat starts as sqrt(q_0) N(0, 1) and V as (1 - q_0) I; the finite size breaks the symmetry.
    side_information : float
        lambda in [0, 1).
    regularization : float
        epsilon >= 0, added to the diagonal of V in the channel.
    tolerance : float
        Stop when the relative change of every layer of W_hat falls below it.
    held : tuple of float or None
        Overlaps in [0, 1] at which rows are held, NaN for the rows that are free; only for links that offer DIAGONAL_OVERLAP.

    Raises
    ------
    ValueError
        If a value is out of its range.
    """

    max_iterations: int = 60
    damping: float = 0.0
    start_overlap: float = 1e-3
    side_information: float = 0.0
    regularization: float = 0.0
    tolerance: float = 1e-2
    held: tuple[float, ...] | None = None

    def __post_init__(self):
        if self.held is not None and not all(np.isnan(q) or 0 <= q <= 1 for q in self.held):
            raise ValueError(f"held must be overlaps in [0, 1] or NaN, got {self.held}")
        if not (
            0 <= self.damping < 1
            and 0 < self.start_overlap < 1
            and 0 <= self.side_information < 1
            and self.regularization >= 0
            and self.max_iterations >= 1
            and self.tolerance >= 0
        ):
            raise ValueError(
                "need 0 <= damping < 1, 0 < start_overlap < 1, 0 <= side_information < 1, regularization >= 0, "
                f"max_iterations >= 1 and tolerance >= 0; got {self}"
            )


@dataclass(frozen=True)
class _State:
    """The messages of one iteration: W_hat (P, D), V (P, P), and the Onsager term of every sample (N, P, M)."""

    estimate: np.ndarray
    variance: np.ndarray
    onsager: np.ndarray


@dataclass(frozen=True)
class _Prior:
    """Knowledge besides the data: precision (P, P) and precision-weighted mean (P, D) of the weights."""

    precision: np.ndarray
    mean: np.ndarray


def run(channel: Channel, data: Dataset, generator, settings: Settings | None = None) -> GampRun:
    """Run GAMP from a small random estimate.

    Parameters
    ----------
    channel : Channel
    data : Dataset
        Of the link of the channel.
    generator : numpy.random.Generator
        For the initial estimate, the side information, and the estimates of held rows.
    settings : Settings, optional

    Raises
    ------
    ValueError
        If rows are held in a link without the symmetry, or not one number is given for each row.
    """
    settings = Settings() if settings is None else settings
    size, dimension = channel.link.rows, data.teacher.shape[1]
    # One matrix of all tokens: both products with the data are plain matrix products.
    tokens = data.sequences.reshape(-1, dimension) / np.sqrt(dimension)
    state = _State(
        np.sqrt(settings.start_overlap) * generator.standard_normal((size, dimension)),
        (1.0 - settings.start_overlap) * np.eye(size),
        np.zeros((len(data.observed), size, channel.link.tokens)),
    )
    prior = _prior(data.teacher, settings.side_information, generator)
    free = np.arange(size)
    if settings.held is not None:
        require(channel.link, {DIAGONAL_OVERLAP})
        state, free = _hold(state, data.teacher, settings.held, generator)
    path = []
    residual, resolved, converged = np.inf, 1.0, False
    for _ in range(settings.max_iterations):
        g, derivative, share = _denoise(channel, data.observed, tokens, state, settings.regularization)
        resolved = min(resolved, share)
        if not (np.all(np.isfinite(g)) and np.all(np.isfinite(derivative))):
            # The record keeps this state: the trajectory ends with missing values.
            state = _State(np.full_like(state.estimate, np.nan), np.full((size, size), np.nan), state.onsager)
            path.append(_overlaps(state, data.teacher))
            residual = np.nan
            break
        new = _update(tokens, state, g, derivative, prior, settings.damping, free)
        # Relative, layer by layer: a small layer that still grows is an instability in its making, not convergence.
        change = np.sqrt(np.mean((new.estimate - state.estimate)[free] ** 2, axis=1))
        length = np.sqrt(np.mean(new.estimate[free] ** 2, axis=1))
        residual = float(np.max(change / np.maximum(length, NEGLIGIBLE), initial=0.0))
        state = new
        path.append(_overlaps(state, data.teacher))
        spectrum = np.linalg.eigvalsh(state.variance[np.ix_(free, free)])
        at_the_end = spectrum.min(initial=1.0) <= SMALLEST_VARIANCE
        converged = bool(residual <= settings.tolerance or (at_the_end and spectrum[-1] <= RECOVERED))
        if converged or at_the_end or not np.isfinite(residual):
            break
    overlap, norm, variance = (np.array(matrices) for matrices in zip(*path, strict=True))
    lengths = np.einsum("tpp->tp", norm) * np.mean(data.teacher**2, axis=1)
    # An estimate that is zero has no direction.
    with np.errstate(invalid="ignore"):
        cosine = np.einsum("tpp->tp", overlap) / np.sqrt(lengths)
    return GampRun(overlap, norm, cosine, variance, state.estimate, residual, converged, resolved)


def _prior(teacher, side_information, generator) -> _Prior:
    """The Gaussian prior of unit variance, with the side information S = sqrt(lambda) W + sqrt(1 - lambda) N."""
    identity = np.eye(len(teacher))
    precision = identity + side_information / (1.0 - side_information) * identity
    if side_information == 0:
        return _Prior(precision, np.zeros(teacher.shape))
    noise = generator.standard_normal(teacher.shape)
    side = np.sqrt(side_information) * teacher + np.sqrt(1.0 - side_information) * noise
    return _Prior(precision, np.sqrt(side_information) / (1.0 - side_information) * side)


def _hold(state, teacher, held, generator):
    """The state with the held rows at their overlaps, and the numbers of the free rows."""
    overlaps = np.asarray(held, dtype=float)
    if overlaps.shape != (len(teacher),):
        raise ValueError(f"held must have one number for each of {len(teacher)} rows, got {held}")
    estimate, variance = state.estimate.copy(), state.variance.copy()
    for row in np.flatnonzero(np.isfinite(overlaps)):
        q = min(overlaps[row], LARGEST_OVERLAP)
        estimate[row] = q * teacher[row] + np.sqrt(q * (1.0 - q)) * generator.standard_normal(teacher.shape[1])
        variance[row, row] = 1.0 - q
    return _State(estimate, variance, state.onsager), np.flatnonzero(np.isnan(overlaps))


def _denoise(channel, observed, tokens, state, regularization):
    """g (N, P, M) and the sum of dg over tokens (N, P, P), zero where the channel is not resolved, and the resolved fraction."""
    size = channel.link.rows
    V = state.variance + regularization * np.eye(size)
    fields = (tokens @ state.estimate.T).reshape(-1, channel.link.tokens, size).transpose(0, 2, 1)
    moments = channel.posterior(observed, fields - state.onsager, V)
    estimates, derivative = denoiser(moments, V)
    # An output whose sampling has collapsed would throw the estimate anywhere: this time it is left out.
    g = np.where(moments.resolved[:, None, None], estimates.mean(axis=0), 0.0)
    return g, np.where(moments.resolved[:, None, None], derivative, 0.0), float(moments.resolved.mean())


def _update(tokens, state, g, derivative, prior, damping, free) -> _State:
    """The next messages; the rows that are not in `free` stay as they are."""
    dimension = state.estimate.shape[1]
    block = np.ix_(free, free)
    information = -derivative.sum(axis=0)[block] / dimension
    # On a finite sample the information may be slightly indefinite; V must stay positive with eigenvalues below one.
    information = clip_spectrum(information, 0.0, 1.0 / SMALLEST_VARIANCE)
    fields = g[:, free].transpose(1, 0, 2).reshape(len(free), len(tokens))
    target = fields @ tokens + information @ state.estimate[free] + prior.mean[free]
    covariance = np.linalg.inv(prior.precision[block] + information)
    estimate, variance, onsager = state.estimate.copy(), state.variance.copy(), np.zeros_like(state.onsager)
    estimate[free] = (1.0 - damping) * covariance @ target + damping * state.estimate[free]
    mixed = (1.0 - damping) * covariance + damping * state.variance[block]
    variance[block] = clip_spectrum(mixed, 0.5 * SMALLEST_VARIANCE, 1.0)
    # The contribution of each sample to the (damped) estimate, which its field must not contain.
    reaction = np.einsum("pq,nqa->npa", covariance, g[:, free])
    onsager[:, free] = (1.0 - damping) * reaction + damping * state.onsager[:, free]
    return _State(estimate, variance, onsager)


def _overlaps(state, teacher):
    """W_hat W^T / D, W_hat W_hat^T / D and V, each (P, P)."""
    dimension = teacher.shape[1]
    return state.estimate @ teacher.T / dimension, state.estimate @ state.estimate.T / dimension, state.variance
