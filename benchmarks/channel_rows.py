"""Rows of the channel of layers of finite rank: the denoiser, and the moments by importance sampling."""

from functools import partial

import numpy as np

import naive_sequence_multi_index as naive
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channels.averages import node_dimension, sample_outputs
from attention_limits.sequence_multi_index.channels.channel import SAMPLING_NODES, Channel
from attention_limits.sequence_multi_index.channels.posterior import denoiser
from attention_limits.sequence_multi_index.channels.sampling.importance import fibre_moments
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from table import Growth, Row, Spread, clocked, growth

# (skip, Q_11, Q_22): before learning, one layer learnt, the onset of the other layer, no skip connection.
CASES = ((1.0, 0.0, 0.0), (1.0, 0.0, 0.5), (1.0, 0.3, 0.985), (0.0, 0.0, 0.5))
# Resolutions: of the experiments, the default, and one at which all errors are below those of the naive denoiser.
RESOLUTIONS = (0.75, 1.0, 2.0)
REFERENCE_RESOLUTION = 3.0
# The kernel works in blocks of 64 outputs per thread: one call with a full block is its normal use.
BLOCK = 64


def typical_outputs(link, V, count, seed):
    """(observed, omega) of `count` outputs drawn from the model at V = I - Q."""
    points = np.random.default_rng(seed).standard_normal((count, node_dimension(link)))
    omega, observed = sample_outputs(link, np.eye(link.rows) - V, V, points)
    return observed, omega


def our_denoiser(model, u, omega, V, resolution):
    """(g, dg) of all given samples; both estimates of g of the exact channel are the same."""
    (g, _), dg = denoiser(Channel(model, resolution, np.random.default_rng(0)).posterior(u, omega, V), V)
    return g, dg


def seconds_per_sample(model, u, omega, V, resolution, repeats):
    """Median over repeats of the time of one call, divided by its number of samples."""
    call = partial(our_denoiser, model, u, omega, V, resolution)
    return float(np.median([clocked(call, len(u))[0] for _ in range(repeats)]))


def _errors(found, reference, V):
    """Largest errors of g and of dg over the components of one sample, fields in units of the prior standard deviation."""
    scale = np.sqrt(np.diag(V))
    return (
        float(np.max(np.abs(found[0] - reference[0]) * scale[:, None])),
        float(np.max(np.abs(found[1] - reference[1]) * np.outer(scale, scale))),
    )


def denoiser_rows(samples):
    """The naive denoiser and ours, alternately for each sample: one Row for each case and resolution."""
    rows = []
    for case, (skip, *overlap) in enumerate(CASES):
        model, V = DeepAttention(skip=skip), np.eye(2) - np.diag(overlap)
        outputs = typical_outputs(model, V, samples, seed=case)
        naive_seconds, naive_errors = [], []
        our_seconds, our_errors = {r: [] for r in RESOLUTIONS}, {r: [] for r in RESOLUTIONS}
        for u, omega in zip(*outputs, strict=True):
            seconds, found = clocked(partial(naive.denoiser, model, u, omega, V))
            naive_seconds.append(seconds)
            block = np.tile(u, (BLOCK, 1)), np.tile(omega, (BLOCK, 1, 1))
            g, dg = our_denoiser(model, u[None], omega[None], V, REFERENCE_RESOLUTION)
            naive_errors.append(_errors(found, (g[0], dg[0]), V))
            for resolution in RESOLUTIONS:
                our_seconds[resolution].append(seconds_per_sample(model, *block, V, resolution, repeats=5))
                ours = our_denoiser(model, u[None], omega[None], V, resolution)
                our_errors[resolution].append(_errors((ours[0][0], ours[1][0]), (g[0], dg[0]), V))
        for resolution in RESOLUTIONS:
            rows.append(
                Row(
                    f"denoiser, c = {skip:g}, Q = diag({overlap[0]:g}, {overlap[1]:g}), resolution {resolution:g}",
                    ours=Spread.of(our_seconds[resolution]),
                    baseline=Spread.of(naive_seconds),
                    ratio=Spread.of(np.divide(naive_seconds, our_seconds[resolution])),
                    baseline_errors=_named(naive_errors),
                    our_errors=_named(our_errors[resolution]),
                    note=f"one evaluation with all moments, {samples} outputs",
                )
            )
    return rows


def _named(errors):
    """Spreads of the pairs of errors of (g, dg)."""
    return {name: Spread.of(values) for name, values in zip(("g", "∂g"), np.transpose(errors), strict=True)}


def variance_growth(count, sizes, repeats):
    """Growth of the time of one evaluation with 1 - Q_22, at c = 1, Q_11 = 0.3 and resolution 1."""
    model = DeepAttention(skip=1.0)
    spreads = []
    for size in sizes:
        V = np.diag([0.7, size])
        u, omega = typical_outputs(model, V, count, seed=100)
        spreads.append(Spread.of([seconds_per_sample(model, u, omega, V, 1.0, 1) for _ in range(repeats)]))
    return Growth.fit("denoiser, c = 1, Q₁₁ = 0.3, per evaluation", "1 − Q₂₂", sizes, spreads)


def sampling_row(overlaps, samples, repeats):
    """Importance sampling for deep attention with these overlaps: ours against the channel of any link, one proposal.

    Both take two scramblings of equally many nodes; errors are those of the sampling, against 64 times the nodes.
    """
    depth = len(overlaps)
    link, V = DeepAttention(skip=1.0, depth=depth), np.diag(1.0 - np.array(overlaps))
    observed, omega = typical_outputs(link, V, samples, seed=200)
    channel = Channel(link, 1.0, np.random.default_rng(0))
    dimension = link.free_rows * link.tokens
    halves = [gaussian_nodes(dimension, SAMPLING_NODES, child, 1.0) for child in np.random.default_rng(1).spawn(2)]
    reference = Channel(link, 8.0, np.random.default_rng(2)).posterior(observed, omega, V).mean
    channel.posterior(observed, omega, V)
    plain_seconds, our_seconds = [], []

    def one_proposal():
        return np.mean([fibre_moments(link, observed, omega, V, half.points)[1] for half in halves], axis=0)

    for _ in range(repeats):
        seconds, plain = clocked(one_proposal, samples)
        plain_seconds.append(seconds)
        seconds, posterior = clocked(partial(channel.posterior, observed, omega, V), samples)
        our_seconds.append(seconds)
    ours = posterior.mean
    scale = np.sqrt(np.diag(V))[:, None]

    def largest(mean):
        return np.abs((mean.reshape(reference.shape) - reference) / scale).max(axis=(1, 2))

    faster = np.median(np.divide(plain_seconds, our_seconds))
    squares = [largest(mean) ** 2 for mean in (plain, ours)]
    typical, average = (faster * np.divide(*map(kind, squares)) for kind in (np.median, np.mean))
    return Row(
        f"moments of {depth} layers, c = 1, Q = diag({', '.join(f'{q:g}' for q in overlaps)}), per output",
        ours=Spread.of(our_seconds),
        baseline=Spread.of(plain_seconds),
        ratio=Spread.of(np.divide(plain_seconds, our_seconds)),
        baseline_errors={"E[h]": Spread.of(np.sqrt(squares[0]))},
        our_errors={"E[h]": Spread.of(np.sqrt(squares[1]))},
        note=f"importance sampling, 2 × {SAMPLING_NODES} nodes, {samples} outputs; baseline: any link, one proposal for all "
        "outputs; errors of the posterior mean in prior standard deviations, against 64 times the nodes; error² × time of the "
        f"baseline divided by ours: {typical:.2g} for the median output, {average:.2g} for the mean of error²",
    )


def depth_growth(sizes, outputs, repeats):
    """Moments of one output of L layers by importance sampling, the last layer known to 0.7."""

    def work(depth):
        link = DeepAttention(skip=1.0, depth=depth)
        V = np.diag([1.0] * (depth - 1) + [0.3])
        observed, omega = typical_outputs(link, V, outputs, seed=200)
        channel = Channel(link, 1.0, np.random.default_rng(0))
        return lambda: channel.posterior(observed, omega, V)

    return growth("moments of L layers by sampling, per output", "layers L", sizes, work, outputs, repeats)
