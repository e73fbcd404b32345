"""The map of the state evolution with the channel of the public program of Troiani et al. 2025 (arXiv:2502.00901).

    Q_hat = alpha E sum_a g_a g_a^T,   Q' = damping Q + (1 - damping) Q_hat (I + Q_hat)^-1,

with epsilon added to V = I - Q, in data and denoiser. Q stays diagonal, because the signs of all rows are free. The expectation
is over omega_a ~ N(0, Q), h_a ~ N(omega_a, V), on Sobol nodes; the program draws them.

For two layers rare outputs dominate E g g^T: where the fields of layer 1 lie beyond the box of the denominator, the ratio of the
integrals grows without bound. So the mean over outputs grows with their number, and a step is one with a given number of outputs.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attention_limits.sequence_multi_index.channels.averages import channel_averages, sample_outputs
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.channels.published.gradient import PUBLIC, published_gradient

# A numerator misses the posterior if it is off by more than this fraction of its norm.
MISSED = 0.1


@dataclass(frozen=True)
class PublishedAverages:
    """Averages over the outputs at an overlap.

    Attributes
    ----------
    information : array (L,)
        Diagonal of E sum_a g_a g_a^T.
    resolved : float
        Fraction of outputs that `published_gradient` calls resolved, with a finite gradient.
    missed : float
        Two layers: probability that the numerator differs from the exact one by more than MISSED of its norm; else NaN.
    """

    information: np.ndarray
    resolved: float
    missed: float


def published_averages(channel: Channel, overlap, nodes, generator, regularization, boxes=PUBLIC) -> PublishedAverages:
    """Averages over the public program's channel at the diagonal `overlap` (L,).

    Parameters
    ----------
    channel : Channel
        The exact channel of the link, with which the numerators are compared.
    overlap : array (L,)
        Diagonal of Q, in [0, 1).
    nodes : GaussianNodes
        In `averages.node_dimension(channel.link)` dimensions.
    generator : numpy.random.Generator
        Draws the uniform points of three layers.
    regularization : float
        epsilon >= 0.
    boxes : gradient.Boxes, optional
        Those of the public program by default.
    """
    link, variance = channel.link, 1.0 - np.asarray(overlap, dtype=float) + regularization
    omega, u = sample_outputs(link, np.diag(overlap), np.diag(variance), nodes.points)
    found = published_gradient(u, omega, variance, link.skip, link.beta, generator, boxes)
    finite = np.all(np.isfinite(found.gradient), axis=(1, 2))
    # An output without a number has no place in the mean: the program leaves it out.
    squares = np.where(finite[:, None], np.sum(found.gradient**2, axis=2), 0.0)
    weight = np.sum(nodes.weights * finite)
    information = nodes.weights @ squares / weight if weight > 0 else np.full(link.rows, np.nan)
    missed = np.nan
    if link.rows == 2:
        exact = _numerators(channel, u, omega, variance)
        off = _norms(found.numerator - exact) > MISSED * _norms(exact)
        missed = nodes.weights @ off / np.sum(nodes.weights)
    return PublishedAverages(information, float(np.mean(found.resolved & finite)), float(missed))


def _numerators(channel, u, omega, variance):
    """int V^-1 (h - omega) w over all fields of layer 1, array (n, 2, 2), with the exact channel."""
    moments = channel.posterior(u, omega, np.diag(variance))
    # Z_out has the norm of the Gaussians of two tokens, w has none.
    norm = np.exp(moments.log_z) * (2.0 * np.pi) ** 2 * np.prod(variance)
    return norm[:, None, None] * moments.mean / variance[:, None]


def _norms(values):
    """Frobenius norms of values (n, L, 2)."""
    return np.sqrt(np.sum(values**2, axis=(1, 2)))


class MapSettings(Protocol):
    """The settings that the iteration of the map reads; the section `schema.published.PublishedSolver` has them.

    Attributes
    ----------
    iterations : int
        Number of iterations.
    damping : float
        Weight of the OLD overlap, in [0, 1).
    regularization : float
        epsilon >= 0.
    channel : str
        "published", or "exact" for the exact channel.
    """

    iterations: int
    damping: float
    regularization: float
    channel: str


@dataclass(frozen=True)
class PublishedPath:
    """Iterations of the map, without the start.

    Attributes
    ----------
    overlap : array (T, L)
        Diagonal of Q_t.
    resolved, missed : float
        As in `PublishedAverages`; the smallest and the largest over the iterations.
    """

    overlap: np.ndarray
    resolved: float
    missed: float


def published_path(channel: Channel, alpha, start, nodes, generator, settings: MapSettings) -> PublishedPath:
    """Iterate the map on fixed nodes.

    Parameters
    ----------
    channel : Channel
    alpha : float
        n / D.
    start : array (L,)
        Diagonal of Q_0, in [0, 1).
    nodes, generator
        As in `published_averages`.
    settings : MapSettings
        With the exact channel `missed` is NaN.

    Raises
    ------
    ValueError
        If an overlap is outside [0, 1).
    """
    overlap = np.array(start, dtype=float)
    if overlap.shape != (channel.link.rows,) or np.any((overlap < 0) | (overlap >= 1)):
        raise ValueError(f"need {channel.link.rows} overlaps in [0, 1), got {overlap.tolist()}")
    path, resolved, missed = [], [], []
    for _ in range(settings.iterations):
        if settings.channel == "exact":
            averages = channel_averages(channel, np.diag(overlap), nodes, settings.regularization)
            # The two estimators together can be negative by their noise.
            information = np.maximum(np.diag(averages.information), 0.0)
        else:
            averages = published_averages(channel, overlap, nodes, generator, settings.regularization)
            information = averages.information
            missed.append(averages.missed)
        resolved.append(averages.resolved)
        precision = alpha * information
        overlap = settings.damping * overlap + (1.0 - settings.damping) * precision / (1.0 + precision)
        path.append(overlap)
        if not np.all(np.isfinite(overlap)):
            # The rest of the path is missing.
            path += [np.full(len(overlap), np.nan)] * (settings.iterations - len(path))
            break
    return PublishedPath(np.array(path), min(resolved), max(missed, default=np.nan))
