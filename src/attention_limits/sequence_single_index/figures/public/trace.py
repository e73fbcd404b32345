"""Steps to learn a square target against the number of tokens: trace of attention and a network with the square as activation."""

import numpy as np

from attention_limits.numerics.probability.power_laws import median_and_range
from attention_limits.plotting import GREEN, KEY, NARROW, ORANGE, house_style, legend_below, new_figure
from attention_limits.sequence_single_index.figures.public.lengths import draw_medians

STUDENTS = {
    "trace_attention": ("trace of attention", GREEN),
    "square_network": ("square of the mean field, untied", ORANGE),
}


@house_style
def draw(cubes):
    """Medians and flows from the cubes trace_attention and square_network."""
    figure, axes = new_figure(1, 1, NARROW, 3.8)
    for name, (label, color) in STUDENTS.items():
        draw_medians(axes, cubes[name], color, label)
    tokens = cubes["trace_attention"].tokens.values
    axes.plot([], [], "--", color=KEY, linewidth=1.0, label=r"limit $d \to \infty$")
    axes.set(xscale="log", yscale="log", xlabel="tokens $M$", ylabel="steps until the student has learned")
    axes.set_xticks(tokens, [f"{n}" for n in tokens])
    axes.set_xticks([], minor=True)
    legend_below(figure, axes, ncols=2)
    return figure


def numbers(cubes):
    """From which number of tokens on attention is faster; how many times, at the most tokens; power of M of the network.

    Of the medians. The power is that from the fewest to the most tokens.
    """
    tokens, attention = _medians(cubes["trace_attention"])
    _, network = _medians(cubes["square_network"])
    slower = tokens[~(attention < network)]
    faster = tokens[tokens > np.max(slower, initial=0)]
    return {
        "fewest": np.min(faster, initial=np.inf),
        "most": tokens[-1],
        "times": network[-1] / attention[-1],
        "power": np.log(network[-1] / network[0]) / np.log(tokens[-1] / tokens[0]),
    }


def _medians(cube):
    """Numbers of tokens and median steps, arrays (tokens,); NaN where half of the runs go on."""
    cube = cube.squeeze("dimension")
    steps, escaped = (cube[name].transpose("tokens", "replica").values for name in ("escape_step", "escaped"))
    median = median_and_range(steps, escaped)[0]
    return cube.tokens.values.astype(float), np.where(np.isfinite(median), median, np.nan)
