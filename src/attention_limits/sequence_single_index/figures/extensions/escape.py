"""Escape time of SGD against the dimension, for information exponents one to four."""

import numpy as np

from attention_limits.numerics.probability.power_laws import median_and_range
from attention_limits.plotting import NARROW, house_style, legend_below, lower_bounds, new_figure, ordered_colors
from attention_limits.sequence_single_index.figures.shared import power_text
from attention_limits.sequence_single_index.readings import escape_exponent, escape_law

# Law of the escape time and its text, by the information exponent.
LAWS = {
    1: (lambda d: d, "d"),
    2: (lambda d: d * np.log(d) ** 2, r"d\,\log^2 d"),
    3: (lambda d: d**2, "d^2"),
    4: (lambda d: d**3, "d^3"),
}


@house_style
def draw(cubes):
    """Median escape steps (top) and the same over the expected law (bottom), from the cubes escape_sie1 to escape_sie4."""
    figure, (top, bottom) = new_figure(2, 1, NARROW, 6.0, sharex=True, height_ratios=(3, 2))
    for color, (order, (law, text)) in zip(ordered_colors(list(LAWS)), LAWS.items(), strict=True):
        cube = cubes[f"escape_sie{order}"]
        d = cube.dimension.values.astype(float)
        median, low, high = median_and_range(cube.escape_step.values, cube.escaped.values)
        known = np.isfinite(median) & np.isfinite(high)
        shown = f"$k = {order}$: {power_text('d', escape_law(cube, start=order == 1))}, law ${text}$"
        errors = [median[known] - low[known], high[known] - median[known]]
        top.errorbar(
            d[known],
            median[known],
            errors,
            color=color,
            marker="o",
            markersize=4,
            capsize=2,
            linestyle="none",
            label=shown,
        )
        flow = cube.flow_step.isel(replica=0).values
        top.plot(d, flow, color=color, linewidth=1.0)
        # Where half of the runs are censored, the longest run is a lower bound.
        bound = cube.escape_step.values.max(axis=1)
        if not known.all():
            lower_bounds(top, d[~known], bound[~known], color, "lower bound: the length of the runs")
        if not known.any():
            continue
        scale = law(d) * (median[known] / law(d[known]))[-1]
        bottom.errorbar(
            d[known], (median / scale)[known], [error / scale[known] for error in errors], color=color, marker="o",
            markersize=4, capsize=2, linestyle="none",
        )  # fmt: skip
        bottom.plot(d, flow / scale, color=color, linewidth=1.0)
    top.plot([], [], color="0.4", linewidth=1.0, label=r"flow ($d \to \infty$ at this learning rate)")
    bottom.axhline(1.0, color="0.7", linewidth=0.6, zorder=0)
    top.set(xscale="log", yscale="log", ylabel="median steps to overlap 1/2")
    bottom.set(xlabel="dimension $d$", ylabel="steps / law,\nlast point = 1")
    legend_below(figure, top, ncols=1)
    return figure


def numbers(cubes):
    """The fitted exponent at k = 3 with its error; how far the medians at k = 4 are below the flow at most, in per cent."""
    exponent, error = escape_exponent(cubes["escape_sie3"])
    fourth = cubes["escape_sie4"]
    median = median_and_range(fourth.escape_step.values, fourth.escaped.values)[0]
    below = 100 * (1.0 - median / fourth.flow_step.isel(replica=0).values)
    return {"third": exponent, "third_error": error, "farthest": np.max(below)}
