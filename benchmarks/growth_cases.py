"""How the cost grows with the size: nodes, layers, dimension, sites, grid points; one core."""

import time

import numpy as np

from attention_limits.attention_indexed import matrix_amp
from attention_limits.attention_indexed.channel import make_channel
from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.potts_mlm.factored_attention import objective
from attention_limits.potts_mlm.gibbs import Ladder
from attention_limits.potts_mlm.potts import Potts, color_couplings, site_couplings
from attention_limits.sequence_multi_index.channel import Channel
from attention_limits.sequence_multi_index.links.deep_attention import DeepAttention
from attention_limits.sequence_multi_index.state_evolution import node_dimension, solve
from channel_cases import typical_outputs
from table import Growth, Spread


def growths(quick):
    """All fits of this module."""
    repeats = 2 if quick else 5
    return [
        nodes_growth([64, 128, 256] if quick else [128, 256, 512, 1024, 2048], repeats),
        depth_growth([3, 4, 5] if quick else [3, 4, 5, 6, 8], 16 if quick else 64, repeats),
        width_growth([20, 40] if quick else [100, 150, 200, 300, 400], repeats),
        score_growth([2, 4] if quick else [2, 3, 4, 6, 8], repeats),
        *site_growths([10, 20, 40] if quick else [10, 20, 40, 80], repeats),
    ]


def growth(what, size, sizes, work, units, repeats):
    """Time of `work(size)()` per unit of work at every size; the first call, which may compile, is not counted."""
    spreads = []
    for value in sizes:
        run = work(value)
        run()
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) / units)
        spreads.append(Spread.of(times))
    return Growth.fit(what, size, sizes, spreads)


def nodes_growth(sizes, repeats):
    """One iteration of the state evolution of two layers against the number of nodes."""
    channel, iterations = Channel(DeepAttention(1.0), 0.75, np.random.default_rng(0)), 4

    def work(count):
        nodes = gaussian_nodes(node_dimension(channel.link), count, np.random.default_rng(1))
        settings = {"start": 1e-3, "tolerance": 0.0, "max_iterations": iterations, "warm_up": 1, "lookahead": 0}
        return lambda: solve(channel, 0.5, nodes, **settings)

    return growth("state evolution, two layers, α = 0.5, per iteration", "nodes N", sizes, work, iterations, repeats)


def depth_growth(sizes, outputs, repeats):
    """Moments of one output of L layers by importance sampling, the last layer known to 0.7."""

    def work(depth):
        link = DeepAttention(skip=1.0, depth=depth)
        V = np.diag([1.0] * (depth - 1) + [0.3])
        observed, omega = typical_outputs(link, V, outputs, seed=200)
        channel = Channel(link, 1.0, np.random.default_rng(0))
        return lambda: channel.posterior(observed, omega, V)

    return growth("moments of L layers by sampling, per output", "layers L", sizes, work, outputs, repeats)


def site_growths(sizes, repeats):
    """Gibbs updates and the gradient of factored attention against the number of sites."""
    colors, gap, count = 20, 5000, 500

    def model(sites):
        rng = np.random.default_rng(1)
        return Potts(site_couplings("gaussian", sites, rng), color_couplings("gaussian", colors, rng))

    def gibbs(sites):
        ladder = Ladder(model(sites), [0.3], np.random.default_rng(2))
        return lambda: ladder.sample(1, gap)

    def gradient(sites):
        rng = np.random.default_rng(3)
        sequences = rng.integers(0, colors, (count, sites)).astype(np.int8)
        parameters = 0.3 * rng.standard_normal(sites**2 + colors**2)
        parameters[: sites**2 : sites + 1] = 0.0
        return lambda: objective(parameters, sequences, colors, "raw", 0.0)

    return [
        growth("Gibbs sampling, C = 20, per sweep of all sites", "sites L", sizes, gibbs, gap, repeats),
        growth("gradient of factored attention, C = 20, per sequence", "sites L", sizes, gradient, count, repeats),
    ]


def width_growth(sizes, repeats):
    """One iteration of matrix AMP against the dimension, at alpha = 0.1: n = alpha d^2 samples of d^2 products each."""
    iterations = 3
    return growth(
        "matrix AMP, two tokens, α = 0.1, per iteration", "dimension d", sizes, lambda d: _amp(2, d, 0.1, iterations),
        iterations, repeats,
    )  # fmt: skip


def score_growth(sizes, repeats):
    """One iteration of matrix AMP against the number of tokens, at fixed d and n."""
    iterations = 3
    return growth(
        "matrix AMP, d = 100, n = 2000, per iteration", "tokens T", sizes, lambda length: _amp(length, 100, 0.2, iterations),
        iterations, repeats,
    )  # fmt: skip


def _amp(tokens, dimension, alpha, iterations):
    channel = make_channel("softmax", tokens)
    count = round(alpha * dimension**2)
    data = matrix_amp.draw_dataset(channel, dimension // 2, dimension, count, np.random.default_rng(0))
    return lambda: matrix_amp.run(channel, data, iterations, tolerance=0.0)
