"""Escape time of a student of another form than its target, information exponent three."""

import numpy as np

from attention_limits.numerics.scaling import fit_power_law, median_and_range
from attention_limits.plotting import house_style, new_figure
from attention_limits.sequence_single_index.figures.shared import NEUTRAL, SEMANTIC, power_text


@house_style
def draw(cubes):
    """Median escape steps, the flow, and the law d^2, from the cube escape_mismatched."""
    cube = cubes["escape_mismatched"]
    d = cube.dimension.values.astype(float)
    median, low, high = median_and_range(cube.escape_step.values, cube.escaped.values)
    known = np.isfinite(median) & np.isfinite(high)
    figure, axes = new_figure(1, 1, 4.6, 3.4)
    fit = fit_power_law(d[known], median[known], 0.5 * np.log(high[known] / low[known]))
    axes.errorbar(
        d[known], median[known], [(median - low)[known], (high - median)[known]], fmt="o", color=SEMANTIC, markersize=4,
        capsize=2, elinewidth=1, label=f"SGD: {power_text('d', fit)}",
    )  # fmt: skip
    flow, error = (cube[name].isel(replica=0).values for name in ("flow_step", "flow_step_error"))
    axes.plot(d, flow, color=SEMANTIC, linestyle="--", label="flow")
    axes.fill_between(d, flow - error, flow + error, color=SEMANTIC, alpha=0.3, linewidth=0)
    axes.plot(d, flow[-1] * (d / d[-1]) ** 2, color=NEUTRAL, linewidth=0.8, linestyle=":", label="law $d^2$")
    axes.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel=r"steps until $|m| > 1/2$")
    axes.set_xticks(d, [f"{value:g}" for value in d], minor=False)
    axes.set_xticks([], minor=True)
    axes.legend(loc="upper left")
    return figure
