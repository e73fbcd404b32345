"""How the cost grows with the size: nodes, layers, dimension, sites, grid points; one core."""

import time

import numpy as np

from attention_limits.attention_indexed import matrix_amp
from attention_limits.attention_indexed.channel import make_channel
from attention_limits.attention_indexed.model import Sizes
from attention_limits.potts_mlm.factored_attention import objective
from attention_limits.potts_mlm.gibbs import Ladder
from attention_limits.potts_mlm.potts import Potts, color_couplings, site_couplings
from table import Growth, Spread


def growths(quick):
    """All fits of this module."""
    repeats = 2 if quick else 5
    return [
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
    data = matrix_amp.draw_dataset(channel, Sizes(count, dimension, dimension // 2), np.random.default_rng(0))
    return lambda: matrix_amp.run(channel, data, iterations, tolerance=0.0)
