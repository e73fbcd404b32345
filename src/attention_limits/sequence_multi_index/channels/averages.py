"""Averages over the outputs of the model at an overlap: omega_a ~ N(0, Q), h_a ~ N(omega_a, V) and y given h.

By the Nishimori identity E sum_a g_a g_a^T = `Channel.spikes` - E sum_a dg_aa: both sides are evaluated on the same nodes and
combined (Troiani et al. 2025, arXiv:2502.00901). Where a channel knows all outputs (`Channel.outputs`) their mean is exact.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.numerics.probability.gaussian_nodes import MOST_WIDE, GaussianNodes, gaussian_nodes
from attention_limits.numerics.probability.statistics import combine_unbiased
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.channels.posterior import denoiser
from attention_limits.sequence_multi_index.links.link import Link, log_noise
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.priors.overlaps import symmetric_root
from attention_limits.sequence_multi_index.priors.prior import Prior


def node_dimension(link: Link):
    """Number of Gaussian variables per node for a link: omega and h given omega, each (P, M), and the noise of the output."""
    return 2 * link.rows * link.tokens + link.noise_dimension


def output_nodes(link: Link, count, generator) -> GaussianNodes:
    """`count` nodes of omega, h given omega and the noise of the output of a `link`, from `generator`; a power of two.

    Of many variables only the fields are wider than their law: the noise has no tails that carry the averages, and the variance
    of the weights grows exponentially with the number of wide variables.
    """
    dimension = node_dimension(link)
    wide = dimension if dimension <= MOST_WIDE else dimension - link.noise_dimension
    return gaussian_nodes(dimension, count, generator, widened=wide)


def sample_outputs(link: Link, overlap, V, points):
    """Local fields of the estimate, and the outputs of the teacher.

    Parameters
    ----------
    link : Link
    overlap, V : array (P, P)
        omega_a ~ N(0, overlap) and h_a | omega_a ~ N(omega_a, V), independent over tokens.
    points : array (n, node_dimension(link))
        Standard normal variables for omega, h given omega, and the noise of the output.

    Returns
    -------
    omega : array (n, P, M)
    observed : array (n, ...)
        `link.observe` of h.
    """
    omega, _, observed = _sample(link, overlap, V, points)
    return omega, observed


def _sample(link, overlap, V, points):
    """omega and the fields h (n, P, M) of the teacher, and its outputs; arguments as in `sample_outputs`."""
    size = link.rows * link.tokens
    omega, spread = points[:, : 2 * size].reshape(len(points), 2, link.rows, link.tokens).transpose(1, 0, 2, 3)
    omega = np.einsum("pq,nqa->npa", symmetric_root(overlap), omega)
    h = omega + np.einsum("pq,nqa->npa", np.linalg.cholesky(V), spread)
    noise = points[:, 2 * size :]
    if hasattr(link, "spikes"):
        # They multiply the density of omega and h by exp(s . h): omega ~ N(Q s, Q) and h given omega ~ N(omega + V s, V).
        spikes = link.spikes(noise)
        omega, h = omega + overlap @ spikes, h + (overlap + V) @ spikes
    return omega, h, link.observe(h, noise)


@dataclass(frozen=True)
class ChannelAverages:
    """Averages over the channel at an overlap Q; see `channel_averages`.

    Attributes
    ----------
    information : array (P, P)
        E sum_a g_a g_a^T, the two estimators combined.
    log_z : float
        Psi(Q) = E log Z_out, in the density of `Posterior.log_z`.
    resolved : float
        Fraction of nodes whose channel met its check.
    """

    information: np.ndarray
    log_z: float
    resolved: float


def channel_averages(
    channel: Channel, overlap, nodes, regularization=0.0, prior: Prior | None = None
) -> ChannelAverages:
    """Averages over omega, h and y at a given overlap, on the given nodes.

    Parameters
    ----------
    channel : Channel
    overlap : array (P, P)
        Q, symmetric, eigenvalues in [0, 1) in units of the second moment of the weights.
    nodes : GaussianNodes
        From `output_nodes(channel.link, n, rng)`.
    regularization : float
        epsilon >= 0 added to the diagonal of V: the channel then carries a residual field noise that no amount of data
        removes (with epsilon = 1e-3 the first layer saturates below one; 0 is the model itself).
    prior : Prior, optional
        Standard normal weights by default.
    """
    V = as_prior(prior, channel.link).second_moment - overlap + regularization * np.eye(len(overlap))
    if channel.outputs is not None:
        return _over_all_outputs(channel, overlap, V, nodes)
    omega, h, observed = _sample(channel.link, overlap, V, nodes.points)
    moments = channel.posterior(observed, omega, V)
    information = _information(channel, moments, V, nodes.weights[:, None, None])
    combined = _seen(channel, combine_unbiased(*information).mean(axis=0))
    noise, mean = log_noise(channel.link, observed, h)
    return ChannelAverages(combined, float(nodes.mean(moments.log_z - noise)) + mean, float(moments.resolved.mean()))


def _information(channel, moments, V, weights):
    """The two estimates of E sum_a g_a g_a^T of each output, arrays (n, P, P), times `weights` (n, 1, 1)."""
    (first, second), dg = denoiser(moments, V)
    product = np.einsum("npa,nqa->npq", first, second)
    return 0.5 * weights * (product + product.transpose(0, 2, 1)), weights * (channel.spikes - dg)


def _seen(channel, information):
    """The matrix (P, P), whose entries combine two estimates, without the directions that the output does not see."""
    kept = np.eye(len(information)) - channel.invariant @ channel.invariant.T
    return kept @ information @ kept


def _over_all_outputs(channel, overlap, V, nodes) -> ChannelAverages:
    """The averages with the exact mean over the outputs given omega: the nodes carry omega alone."""
    rows, tokens = channel.link.rows, channel.link.tokens
    nodes = nodes.first(rows * tokens)
    omega = np.einsum("pq,nqa->npa", symmetric_root(overlap), nodes.points.reshape(-1, rows, tokens))
    squares, slopes, log_z, resolved = 0.0, 0.0, 0.0, 0.0
    for output in channel.outputs:
        moments = channel.posterior(np.broadcast_to(output, (len(omega), *np.shape(output))), omega, V)
        weights = nodes.weights * np.exp(moments.log_z)
        square, slope = _information(channel, moments, V, weights[:, None, None])
        squares, slopes = squares + square, slopes + slope
        log_z += np.mean(weights * moments.log_z)
        resolved += np.mean(weights * moments.resolved)
    combined = _seen(channel, combine_unbiased(squares, slopes).mean(axis=0))
    return ChannelAverages(combined, float(log_z), float(resolved / nodes.weights.mean()))
