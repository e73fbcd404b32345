"""Benchmarks of the channels of softmax layers that read two tokens in single precision."""

from functools import partial
from unittest.mock import patch

import numpy as np

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channels import channel
from attention_limits.sequence_multi_index.channels.sampling.importance import shared_proposal
from attention_limits.sequence_multi_index.channels.sampling.two_tokens import two_token_moments
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from channel_rows import typical_outputs
from table import Row, Spread, clocked

# Diagonal overlap and resolution.
CASES = (((0.3, 0.9), 0.75), ((0.3, 0.5, 0.7), 0.5))


def rows(quick):
    """Single and double precision, alternately."""
    outputs, repeats = (64, 2) if quick else (512, 9)
    return [_row(outputs, repeats, *case) for case in CASES]


def _row(outputs, repeats, overlap, resolution):
    link, V = DeepAttention(skip=1.0, depth=len(overlap)), np.diag(1.0 - np.array(overlap))
    observed, omega = typical_outputs(link, V, outputs, seed=201)
    moments = _trapezoid if link.depth == 2 else _sampling
    seconds = {np.float32: [], np.float64: []}
    # The first round compiles.
    for _ in range(repeats + 1):
        for kind, times in seconds.items():
            times.append(clocked(partial(moments, link, observed, omega, V, resolution, kind), outputs)[0])
    single, double = (times[1:] for times in seconds.values())
    note = "trapezoid rule" if link.depth == 2 else f"{_nodes(resolution)} nodes"
    return Row(
        f"channel of {link.depth} layers in single precision, resolution {resolution:g}, per output",
        ours=Spread.of(single),
        baseline=Spread.of(double),
        ratio=Spread.of(np.divide(double, single)),
        note=f"{note}; baseline: double precision; {outputs} outputs",
    )


def _nodes(resolution):
    """Nodes of both scramblings."""
    return 2 * round(channel.SAMPLING_NODES * resolution**2)


def _trapezoid(link, observed, omega, V, resolution, kind):
    with patch.object(channel, "trapezoid_precision", lambda *arguments: kind):
        channel.Channel(link, resolution, np.random.default_rng(0)).posterior(observed, omega, V)


def _sampling(link, observed, omega, V, resolution, kind):
    nodes = gaussian_nodes(link.free_rows * link.tokens, _nodes(resolution), np.random.default_rng(1), 1.0)
    proposals = shared_proposal(V, omega, link.free_rows)
    two_token_moments(link, observed, omega, V, nodes.points.astype(kind), proposals)
