"""State evolution of exchangeable layers: four numbers in place of the matrix of overlaps.

At large depth, and to first order in 1 / c, the output depends on the K = L - 1 layers before the last one through the sum of
their attention matrices alone (`links.attention.large_depth.CommitteeDepth`; Troiani et al. 2025, arXiv:2502.00901, appendix). A
permutation of these layers leaves model and weights unchanged, and the state evolution keeps this symmetry of its start:

    Q_ll = d,   Q_lk = o,   Q_lL = m,   Q_LL = q        (l, k < L, l != k),

and a step takes O(L) numbers for each node, while the full state evolution (`state_evolution`) takes O(L^2). Where the sign of
every row is free in link and weights, o = m = 0.

This is exact for every link whose free rows are exchangeable, at any depth. Deep attention itself has exchangeable layers only in
the first order in 1 / c.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.numerics.probability.statistics import combine_unbiased
from attention_limits.numerics.simd.aligned_arrays import NUMBERS_AT_ONCE
from attention_limits.numerics.solvers.fixed_point import FixedPoint, iterate
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.channels.posterior import SMALLEST_SAMPLE
from attention_limits.sequence_multi_index.channels.sampling.importance import FOLLOWING_ABOVE, INDEPENDENT_BELOW
from attention_limits.sequence_multi_index.links.link import EXCHANGEABLE, POSTERIOR, require
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.priors.overlaps import (
    LARGEST_OVERLAP,
    clip_spectrum,
    from_coordinates,
    log_eigenvalues,
    overlap_from_precision,
    symmetric_root,
    to_coordinates,
)
from attention_limits.sequence_multi_index.priors.prior import Prior
from attention_limits.sequence_multi_index.state_evolution.exchangeable.matrices import Exchangeable, outer
from attention_limits.sequence_multi_index.state_evolution.fixed_point import RECOVERED, STEPS, Settings


@dataclass(frozen=True)
class ExchangeableFixedPoint(FixedPoint):
    """A fixed point whose value is the array (d, o, m, q).

    Attributes
    ----------
    resolved : float
        Fraction of outputs whose effective sample size reached `channel.SMALLEST_SAMPLE`, at the fixed point.
    """

    resolved: float


def solve(channel: Channel, alpha, nodes, start, settings: Settings, prior: Prior | None = None):
    """Fixed point of the state evolution of exchangeable layers, on fixed nodes.

    Parameters
    ----------
    channel : Channel
        Of a link whose free rows are exchangeable, with one further row.
    alpha : float
        n / D >= 0.
    nodes : GaussianNodes
        In `averages.node_dimension(channel.link)` dimensions.
    start : float
        Initial Q_hat = start / (1 - start) I, 0 < start < 1.
    settings : fixed_point.Settings
        Its warm-up and regularisation are not used.
    prior : Prior, optional
        Gaussian, with a covariance that permutations of the exchangeable rows leave unchanged; standard normal by default.

    Returns
    -------
    ExchangeableFixedPoint
        Not converged where the last row reaches the edge of the overlaps and the others do not follow.

    Raises
    ------
    ValueError
        For alpha < 0, a start outside (0, 1), other links or other priors.
    """
    link = channel.link
    require(link, {POSTERIOR, EXCHANGEABLE})
    if alpha < 0 or not 0 < start < 1:
        raise ValueError(f"need alpha >= 0 and 0 < start < 1; got {alpha}, {start}")
    prior = as_prior(prior, link)
    moment = _second_moment(prior)
    free_signs = prior.symmetry(link) == "rows"
    hint = settings.side_information / (1.0 - settings.side_information)
    unit, seed, resolved = Exchangeable.of(np.eye(link.rows)), STEPS.seed_overlap, 1.0

    def step(coordinates):
        nonlocal resolved
        overlap = _overlap(_from_coordinates(coordinates, moment.count), moment)
        information, resolved = averages(channel, overlap, moment, nodes)
        if not np.all(np.isfinite(information.numbers)):
            return np.full_like(coordinates, np.nan)
        if free_signs:
            diagonal, _, _, last = information.entries
            information = Exchangeable.from_entries(moment.count, diagonal, 0.0, 0.0, last)
        q_hat = (information * alpha).mapped(lambda part: clip_spectrum(part, 0.0, np.inf)) + unit * hint
        return _to_coordinates(q_hat, seed)

    def exact(coordinates):
        logs = _log_eigenvalues(coordinates)
        return bool(logs.max() >= -np.log(1.0 - LARGEST_OVERLAP) and logs.min() >= -np.log(RECOVERED))

    first = _to_coordinates(unit * (start / (1.0 - start)), seed)
    found = iterate(step, first, settings.tolerance, settings.max_iterations, STEPS.lookahead, arrived=exact)
    if not np.all(np.isfinite(found.value)):
        return ExchangeableFixedPoint(np.full(4, np.nan), found.residual, found.iterations, False, 0.0)
    at_edge = _log_eigenvalues(found.value).max() >= -np.log(1.0 - LARGEST_OVERLAP)
    precision = _from_coordinates(found.value, moment.count, seed)
    value = np.array(_overlap(precision, moment).entries)
    converged = found.converged and (not at_edge or exact(found.value))
    return ExchangeableFixedPoint(value, found.residual, found.iterations, converged, resolved)


def averages(channel: Channel, overlap: Exchangeable, moment: Exchangeable, nodes):
    """E sum_a g_a g_a^T at an overlap Q, an `Exchangeable`, and the fraction of outputs that are resolved.

    `moment` is E w w^T; `channel` and `nodes` as in `solve`. The two unbiased estimators are combined as in
    `averages.channel_averages`.
    """
    link, size = channel.link, channel.link.rows * channel.link.tokens
    V, n = moment - overlap, len(nodes)
    omega, spread = nodes.points[:, : 2 * size].reshape(n, 2, link.rows, link.tokens).transpose(1, 0, 2, 3)
    omega = overlap.mapped(symmetric_root) @ omega
    observed = link.observe(omega + V.mapped(np.linalg.cholesky) @ spread, nodes.points[:, 2 * size :])
    means, seconds, sizes = zip(
        *(_moments(link, observed, omega, V, moment, fields) for fields in channel.nodes), strict=True
    )
    inverse = V.mapped(np.linalg.inv)
    second = Exchangeable.from_numbers(moment.count, 0.5 * (seconds[0] + seconds[1]))
    covariance = second - outer(*means)
    slopes = link.tokens * inverse.numbers - inverse.between(covariance).numbers
    squares = outer(inverse @ means[0], inverse @ means[1]).numbers
    weights = nodes.weights[:, None]
    information = combine_unbiased(weights * squares, weights * slopes).mean(axis=0)
    return Exchangeable.from_numbers(moment.count, information), float(np.mean(sum(sizes) >= SMALLEST_SAMPLE))


def _moments(link, observed, omega, V, moment, nodes):
    """Moments of h - omega given n outputs, by importance sampling: the free rows at random, the last one from the output.

    `nodes` (S, K M) are standard normal. Returns the mean (n, K + 1, M), the numbers (n, 4) of E sum_a (h - omega)_a
    (h - omega)_a^T, and the effective sample size (n,).
    """
    count, tokens = V.count, link.tokens
    # A row follows omega as in `importance.shared_proposal`, by a factor s: h = s omega + spread x.
    s = float(np.clip((1.0 - V.entries[0] - INDEPENDENT_BELOW) / (FOLLOWING_ABOVE - INDEPENDENT_BELOW), 0.0, 1.0))
    spread = (V + (moment - V) * (1.0 - s) ** 2).numbers
    x = nodes.reshape(-1, count, tokens)
    middle = x.mean(axis=1, keepdims=True)
    steps = np.sqrt(spread[0]) * (x - middle) + np.sqrt(spread[1]) * middle
    log_nodes = 0.5 * np.sum(x**2, axis=(1, 2))
    slope = V.common[0, 1] / V.common[0, 0]
    rest = V.common[1, 1] - slope * V.common[0, 1]
    n = len(observed)
    mean, second, effective = np.empty((n, count + 1, tokens)), np.empty((n, 4)), np.empty(n)
    block = max(1, NUMBERS_AT_ONCE // (len(x) * link.rows * tokens * max(1, tokens // 2)))
    for begin in range(0, n, block):
        part = slice(begin, begin + block)
        free = omega[part, None, :count]
        deviation = (s - 1.0) * free + steps
        centre = deviation.sum(axis=2) / np.sqrt(count)
        total, central = np.sum(deviation**2, axis=(2, 3)), np.sum(centre**2, axis=2)
        log_ratio = log_nodes - 0.5 * ((total - central) / V.difference + central / V.common[0, 0])
        candidates, log_weight = link.fibre(observed[part], free + deviation, np.zeros((1, 0)))
        last = candidates[:, :, :, 0] - omega[part, None, None, count]
        # A missing candidate has weight zero and must not spoil the sums.
        last = np.where(np.isfinite(log_weight)[..., None], last, 0.0)
        excess = last - slope * centre[:, :, None]
        log_weight = log_ratio[:, :, None] + log_weight - 0.5 * np.sum(excess**2, axis=3) / rest
        top = np.max(log_weight, axis=(1, 2), keepdims=True)
        weight = np.exp(log_weight - np.where(np.isfinite(top), top, 0.0))
        sums = weight.sum(axis=(1, 2))
        explained = sums > 0
        weight /= np.where(explained, sums, 1.0)[:, None, None]
        per_node = weight.sum(axis=2)
        effective[part] = np.where(explained, 1.0, 0.0) / np.maximum(np.sum(per_node**2, axis=1), 1e-300)
        mean[part, :count] = np.einsum("ns,nska->nka", per_node, deviation, optimize=True)
        mean[part, count] = np.einsum("nsk,nska->na", weight, last)
        inner = np.einsum("ns,ns->n", per_node, central)
        found = np.stack([
            (np.einsum("ns,ns->n", per_node, total) - inner) / (count - 1), inner,
            np.einsum("nsk,nsa,nska->n", weight, centre, last, optimize=True),
            np.einsum("nsk,nska,nska->n", weight, last, last, optimize=True),
        ], axis=-1)  # fmt: skip
        second[part] = np.where(explained[:, None], found, tokens * V.numbers)
    return mean, second, effective


def _second_moment(prior):
    """E w w^T of exchangeable Gaussian weights; ValueError for others."""
    if not (prior.gaussian and prior.isotropic):
        raise ValueError("the weights of exchangeable layers must be Gaussian, with the same law for all dimensions")
    moment = Exchangeable.of(prior.second_moment)
    if not np.allclose(moment.matrix, prior.second_moment, rtol=0.0, atol=1e-12):
        raise ValueError(
            f"the covariance {prior.second_moment.tolist()} changes with a permutation of the exchangeable layers"
        )
    return moment


def _overlap(q_hat, moment):
    """Q = C - (C^-1 + Q_hat)^-1 of both parts, C = E w w^T."""

    def of_part(precision, covariance):
        root = np.linalg.cholesky(covariance)
        return root @ overlap_from_precision(root.T @ precision @ root) @ root.T

    difference = of_part(np.array([[q_hat.difference]]), np.array([[moment.difference]]))
    return Exchangeable(moment.count, float(difference[0, 0]), of_part(q_hat.common, moment.common))


def _to_coordinates(q_hat, seed):
    """Logarithms of the difference and of the 2 x 2 matrix: array (4,)."""
    return np.concatenate([to_coordinates(np.array([[q_hat.difference]]), seed), to_coordinates(q_hat.common, seed)])


def _log_eigenvalues(coordinates):
    return np.concatenate([coordinates[:1], log_eigenvalues(coordinates[1:], 2)])


def _from_coordinates(coordinates, count, seed=0.0):
    """Q_hat at coordinates, with zero where an eigenvalue does not exceed `seed`."""
    difference = from_coordinates(coordinates[:1], 1, seed)
    return Exchangeable(count, float(difference[0, 0]), from_coordinates(coordinates[1:], 2, seed))
