"""Steps to learn a square target against the number of tokens: trace of attention and a network with the square as activation."""

import numpy as np

from attention_limits.plotting import GREEN, KEY, NARROW, ORANGE, house_style, legend_below, new_figure
from attention_limits.sequence_single_index.figures.public.lengths import draw_medians, medians, token_axes

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
    token_axes(axes, tokens)
    axes.set(ylabel="steps until the student has learned")
    legend_below(figure, axes, ncols=2)
    return figure


def numbers(cubes):
    """From which number of tokens on attention is faster; how many times, at the most tokens; power of M of the network.

    Of the medians. The power is that from the fewest to the most tokens. The errors are those of the limits at the most tokens.
    """
    tokens, attention = _medians(cubes["trace_attention"])
    _, network = _medians(cubes["square_network"])
    slower = tokens[~(attention < network)]
    faster = tokens[tokens > np.max(slower, initial=0)]
    return {
        "fewest": np.min(faster, initial=np.inf),
        "most": tokens[-1],
        "times": network[-1] / attention[-1],
        "network_error": _flow_error(cubes["square_network"]),
        "attention_error": _flow_error(cubes["trace_attention"]),
        "power": np.log(network[-1] / network[0]) / np.log(tokens[-1] / tokens[0]),
    }


def _medians(cube):
    """Numbers of tokens and median steps, arrays (tokens,); NaN where half of the runs go on."""
    tokens, median = medians(cube)[:2]
    return tokens.astype(float), np.where(np.isfinite(median), median, np.nan)


def _flow_error(cube):
    """Relative standard error of the limit of large dimension at the most tokens, in per cent."""
    last = cube.isel(replica=0, tokens=-1).squeeze()
    return 100.0 * float(last.flow_step_error / last.flow_step) if np.isfinite(last.flow_step) else np.nan
