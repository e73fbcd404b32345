"""Escape time of a student of another form than its target, information exponent three."""

import numpy as np

from attention_limits.numerics.scaling import median_and_range
from attention_limits.plotting import house_style, new_figure
from attention_limits.sequence_single_index.figures.shared import NEUTRAL, SEMANTIC, power_text
from attention_limits.sequence_single_index.readings import escape_law


@house_style
def draw(cubes):
    """Escape steps and the flow from the cubes escape_mismatched and escape_mismatched_large, and the law d^2."""
    cube, large = cubes["escape_mismatched"], cubes["escape_mismatched_large"]
    d = cube.dimension.values.astype(float)
    median, low, high = median_and_range(cube.escape_step.values, cube.escaped.values)
    known = np.isfinite(median) & np.isfinite(high)
    figure, axes = new_figure(1, 1, 4.8, 3.6)
    axes.errorbar(
        d[known], median[known], [(median - low)[known], (high - median)[known]], fmt="o", color=SEMANTIC, markersize=4,
        capsize=2, elinewidth=1, label=f"median of {cube.sizes['replica']} runs of SGD: {power_text('d', escape_law(cube))}",
    )  # fmt: skip
    runs, done = large.escape_step.values.ravel(), large.escaped.values.astype(bool).ravel()
    at = np.repeat(large.dimension.values, large.sizes["replica"]).astype(float)
    axes.plot(at[done], runs[done], "o", color=SEMANTIC, markerfacecolor="white", markersize=4, label="single run")
    axes.plot(at[~done], runs[~done], "^", color=SEMANTIC, markerfacecolor="white", markersize=5)
    d = np.append(d, large.dimension.values)
    flow, error = (
        np.append(*(each[name].isel(replica=0).values for each in (cube, large)))
        for name in ("flow_step", "flow_step_error")
    )
    axes.plot(d, flow, color=SEMANTIC, linestyle="--", label="limiting ODE")
    axes.fill_between(d, flow - error, flow + error, color=SEMANTIC, alpha=0.3, linewidth=0)
    axes.plot(d, flow[-1] * (d / d[-1]) ** 2, color=NEUTRAL, linewidth=0.8, linestyle=":", label="law $d^2$")
    axes.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel=r"steps until $|m| > 1/2$")
    axes.legend(loc="upper left")
    return figure
