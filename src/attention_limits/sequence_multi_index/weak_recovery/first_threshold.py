"""Weak recovery from nothing: the alpha at which zero overlap becomes unstable under the state evolution.

Linearising Q <- alpha E sum_a g_a g_a^T around Q = 0 gives Q <- alpha F(Q) with, for T_{pa,qb} = E[h_pa h_qb | y] - delta,

    F(Q) = E_y sum_{ab} T_ab Q T_ab^T   on the symmetric P x P matrices,

so that alpha_c = 1 / ||F|| (Troiani et al. 2025, arXiv:2502.00901). F maps positive matrices to positive ones: its leading
eigenmatrix is the subspace learned first. If the output knows the sign of a field, E g_a g_a^T does not vanish at Q = 0, and
that direction is learned from any alpha > 0 on. `staircase` computes the next thresholds.

Every prior of mean zero has Q = r C Q_hat C at small Q_hat, C = E w w^T = R R^T and r = `Prior.response`, one if all dimensions
have the same law; `Prior.within` is the part of this matrix that remains. Therefore the threshold is 1 / (r ||F||), it depends
on the prior through C, r and `within` alone, and F acts on the whitened rows R^-1 W. Weights with a mean are known in part
without data: then the overlap grows from any alpha > 0 on.

The nodes are divided into blocks. For a sampled channel each block has a separate scrambling, so the blocks show every error but
the bias of the posterior, which is inverse to its number of nodes. `first_threshold` extrapolates it.
"""

from dataclasses import dataclass, replace

import numpy as np

from attention_limits.sequence_multi_index.channels.averages import sample_outputs
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.channels.posterior import Posterior, denoiser
from attention_limits.sequence_multi_index.links.link import TWO_TOKEN_SAMPLING
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.priors.prior import Prior
from attention_limits.sequence_multi_index.state_evolution.linear_response import (
    BLOCKS,
    HALF_OF_THE_NODES,
    SIGNIFICANT,
    Instability,
    contrasts,
    excess_moments,
    leading_instability,
    positive_part,
    response,
    response_blocks,
    root_mean_square,
    symmetric_basis,
)

# E g g^T at zero overlap below this is compared with that of a channel of twice the resolution: the bias of the posterior mean
# from sampling falls by four, its square by sixteen, and knowledge of a sign stays.
SMALLEST_INFORMATION = 0.02
# Resolutions of the two channels of a Richardson extrapolation, relative to that of the caller. Many layers of two tokens have a
# fast kernel, and their nodes are few points with all changes of sign: 128 nodes of five layers are eight points, too few to
# extrapolate.
RESOLUTIONS, RESOLUTIONS_OF_TWO_TOKENS = (1.0, 0.5), (2.0, 1.0)


def instability_at(channel: Channel, nodes, overlap, subspace, prior: Prior | None = None) -> tuple[Instability, float]:
    """Instability of the unlearned rows at an overlap, and the fraction of outputs whose channel met its check.

    Parameters
    ----------
    channel : Channel
        A sampled one is scrambled anew for each block of the nodes.
    nodes : GaussianNodes
        In `averages.node_dimension(channel.link)` dimensions, a multiple of BLOCKS of them.
    overlap : array (P, P)
        Q, zero on the subspace.
    subspace : array (P, k)
        Of the whitened rows, orthonormal columns.
    prior : Prior, optional
        Standard normal weights by default.
    """
    prior = as_prior(prior, channel.link)
    basis = symmetric_basis(subspace.shape[1], prior.symmetry(channel.link) == "rows")
    matrices, resolved = [], []
    for part, block in zip(channel.independent(BLOCKS), nodes.blocks(BLOCKS), strict=True):
        excess, share = _excess_at(part, block, overlap, subspace, prior)
        matrices.append(response(excess, block.weights, basis))
        resolved.append(share)
    return leading_instability(np.stack(matrices), basis), float(np.mean(resolved))


def _excess_at(channel, nodes, overlap, subspace, prior):
    """T of the outputs of all nodes at an overlap, see `excess_moments`, and the share of the resolved outputs."""
    V = prior.second_moment - 0.5 * (overlap + overlap.T)
    omega, observed = sample_outputs(channel.link, overlap, V, nodes.points)
    moments = channel.posterior(observed, omega, V)
    return excess_moments(moments, V, prior.root @ subspace), moments.resolved.mean()


def instability_and_halves(
    channel: Channel, nodes, overlap, subspace, prior: Prior
) -> tuple[Instability, float, list[Instability]]:
    """What `instability_at` gives for all nodes, and the instabilities of both halves of the nodes.

    A sampled channel has a new scrambling of half as many nodes on each half. An exact one gives the outputs of a half the same
    moments as those of all nodes.
    """
    if channel.sampled:
        parts = zip(channel.independent(2, finer=HALF_OF_THE_NODES), nodes.blocks(2), strict=True)
        halves = [instability_at(part, half, overlap, subspace, prior)[0] for part, half in parts]
        return *instability_at(channel, nodes, overlap, subspace, prior), halves
    basis = symmetric_basis(subspace.shape[1], prior.symmetry(channel.link) == "rows")
    excess, resolved = _excess_at(channel, nodes, overlap, subspace, prior)
    half = len(nodes) // 2
    found = [
        leading_instability(response_blocks(excess[:, part], nodes.weights[part], basis), basis)
        for part in (slice(None), slice(half), slice(half, None))
    ]
    return found[0], float(resolved), found[1:]


@dataclass(frozen=True)
class FirstThreshold:
    """Weak-recovery threshold and the subspace that is learned at it.

    Attributes
    ----------
    alpha : float
        0: learned from any alpha on; infinite: no eigenvalue of F is above its noise.
    error : float
        Standard error, from the scatter of the blocks of nodes, which covers the bias of few nodes in 1 / ||F||, and for a
        sampled channel the whole Richardson correction as its remainder. NaN where alpha is infinite.
    bound : float
        Nothing is learned below this alpha: 1 / ||F|| with ||F|| raised by SIGNIFICANT norms of its noise.
    direction : array (P, P)
        Of the whitened rows R^-1 W, positive semi-definite, of unit trace; NaN where alpha is infinite.
    resolved : float
        Fraction of outputs whose channel met its check.
    """

    alpha: float
    error: float
    bound: float
    direction: np.ndarray
    resolved: float


def first_threshold(channel: Channel, nodes, prior: Prior | None = None) -> FirstThreshold:
    """Threshold at which zero overlap becomes unstable, on the given nodes.

    Knowledge of a sign counts as none where E g g^T is below SIGNIFICANT norms of its noise. The posterior of a sampled channel
    is a ratio of two sums over S nodes, with a bias of order 1 / S, and so has F. Richardson's rule removes this order block by
    block: F(S) + (F(S) - F(S / 4)) / 3. For three heads F is 1.068, 1.145 and 1.162 at S = 128, 512 and 2048 on common outputs:
    the steps have the ratio 4.5. S is the number of nodes of the channel, or four times it (`RESOLUTIONS`). At fewer than 512
    nodes the other channel has 128 nodes; at 128 nothing is removed.

    Parameters
    ----------
    channel : Channel
        A sampled one is scrambled anew for each block of the nodes.
    nodes : GaussianNodes
        In `averages.node_dimension(channel.link)` dimensions, a multiple of BLOCKS of them. The variables of omega, which
        is zero, are left out.
    prior : Prior, optional
        Standard normal weights by default.

    Raises
    ------
    ValueError
        If BLOCKS does not divide the number of nodes.
    """
    if len(nodes) % BLOCKS:
        raise ValueError(f"need a multiple of {BLOCKS} nodes, got {len(nodes)}")
    link, prior = channel.link, as_prior(prior, channel.link)
    if np.any(prior.mean):
        # The direction of the mean is known in part without data.
        mean = np.linalg.solve(prior.root, prior.mean)
        return FirstThreshold(0.0, 0.0, 0.0, np.outer(mean, mean) / (mean @ mean), 1.0)
    parts = nodes.without_first(link.rows * link.tokens).blocks(BLOCKS)
    pairs = zip(channel.independent(BLOCKS), parts, strict=True)
    sampled = [_moments_at_zero(one, part.points, prior) for one, part in pairs]
    resolved = float(np.mean([moments.resolved.mean() for moments in sampled]))
    symmetry = prior.symmetry(link)
    if symmetry == "none":
        known = _known_signs(channel, sampled, parts, prior)
        if known is not None:
            return FirstThreshold(0.0, 0.0, 0.0, known, resolved)
    basis = symmetric_basis(link.rows, symmetry == "rows")
    basis = basis[[bool(np.any(prior.within(one))) for one in basis]]
    if channel.sampled:
        found = _extrapolated(channel, sampled, parts, prior, basis)
    else:
        found = leading_instability(_responses(sampled, parts, prior, basis, False), basis)
    largest = max(found.eigenvalue, 0.0) + SIGNIFICANT * max(found.noise, found.error)
    bound = 1.0 / (prior.response * largest) if largest > 0 else np.inf
    if not found.significant:
        return FirstThreshold(np.inf, np.nan, bound, found.direction, resolved)
    relative = found.error / found.eigenvalue
    # The mean of an inverse lies above the inverse of the mean by the squared error: it belongs to the error.
    alpha = 1.0 / (prior.response * found.eigenvalue)
    return FirstThreshold(alpha, alpha * np.hypot(relative, relative**2), bound, found.direction, resolved)


def _responses(found, parts, prior, basis, sampled):
    """F of each block as a matrix (BLOCKS, j, j), from the moments `found`, of a sampled channel or not."""
    matrices = []
    for moments, part in zip(found, parts, strict=True):
        excess = excess_moments(moments, prior.second_moment, prior.root)
        if sampled:
            excess = _bounded(excess, moments.resolved)
        matrices.append(response(excess, part.weights, basis))
    return np.stack(matrices)


def _bounded(excess, resolved):
    """T (2, n, M, M, P, P); the norm of T of an output that is not resolved is limited to the largest norm of the resolved ones.

    If few nodes are all far from the posterior, the least unlikely one dominates. T, quadratic in its fields, may then be tens of
    times too long, and one output in a thousand dominates F.
    """
    if not resolved.any():
        return excess
    length = np.sqrt(np.sum(excess**2, axis=(2, 3, 4, 5)))
    longest = length[:, resolved].max()
    return excess * np.where(resolved, 1.0, longest / np.maximum(length, longest))[:, :, None, None, None, None]


def _extrapolated(channel, sampled, parts, prior, basis):
    """The instability without the bias of order 1 / S of a sampled channel, whose moments are `sampled`.

    The error includes the whole correction.
    """
    pair = RESOLUTIONS_OF_TWO_TOKENS if channel.method == TWO_TOKEN_SAMPLING else RESOLUTIONS
    counts, matrices = [], []
    for finer in pair:
        channels = channel.independent(BLOCKS, finer=finer)
        found = sampled
        if finer != 1.0:
            found = [_moments_at_zero(one, part.points, prior) for one, part in zip(channels, parts, strict=True)]
        counts.append(len(channels[0].nodes[0]))
        matrices.append(_responses(found, parts, prior, basis, True))
    fine, coarse = matrices
    plain = leading_instability(fine, basis)
    if counts[0] == counts[1]:
        return plain
    found = leading_instability(fine + (fine - coarse) / (counts[0] / counts[1] - 1.0), basis)
    return replace(found, error=float(np.hypot(found.error, found.eigenvalue - plain.eigenvalue)))


def _moments_at_zero(channel, points, prior):
    """Posterior moments of the outputs of the nodes at zero overlap; where few outputs differ each is taken once."""
    link, size = channel.link, channel.link.rows * channel.link.tokens
    h = prior.root @ points[:, :size].reshape(-1, link.rows, link.tokens)
    if hasattr(link, "spikes"):
        h = h + prior.second_moment @ link.spikes(points[:, size:])
    observed = link.observe(h, points[:, size:])
    flat, where = np.unique(np.reshape(observed, (len(h), -1)), axis=0, return_inverse=True)
    if 2 * len(flat) > len(h):
        return channel.posterior(observed, np.zeros_like(h), prior.second_moment)
    different = flat.reshape(-1, *observed.shape[1:])
    moments = channel.posterior(different, np.zeros((len(flat), *h.shape[1:])), prior.second_moment)
    where = where.reshape(-1)
    return Posterior(
        moments.log_z[where], moments.means[:, where], moments.covariances[:, where], moments.effective[where],
        moments.resolved[where],
    )  # fmt: skip


def _known_signs(channel, sampled, parts, prior):
    """R^T E g g^T R at zero overlap (P, P), of unit trace, or None where the noise, or the bias of sampling, explains it."""

    def information(moments):
        blocks = []
        for one, part in zip(moments, parts, strict=True):
            (first, second), _ = denoiser(one, prior.second_moment)
            product = np.einsum("n,npa,nqa->pq", part.weights, first, second) / len(part)
            blocks.append(prior.within(prior.root.T @ (0.5 * (product + product.T)) @ prior.root))
        blocks = np.stack(blocks)
        noise = root_mean_square(np.linalg.norm(contrasts(blocks), 2, axis=(1, 2)))
        return blocks.mean(axis=0), noise

    matrix, noise = information(sampled)
    largest = np.linalg.eigvalsh(matrix)[-1]
    if largest <= SIGNIFICANT * noise:
        return None
    if largest < SMALLEST_INFORMATION and channel.sampled:
        pairs = zip(channel.independent(BLOCKS, finer=2.0), parts, strict=True)
        matrix, noise = information([_moments_at_zero(one, part.points, prior) for one, part in pairs])
        if np.linalg.eigvalsh(matrix)[-1] <= max(SIGNIFICANT * noise, 0.5 * largest):
            return None
    values, vectors = np.linalg.eigh(matrix)
    return positive_part((vectors * (values * (values > SIGNIFICANT * noise))) @ vectors.T)
