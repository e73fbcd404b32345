"""SGD with positional encoding beside its flow, and its escape time with and without the encoding."""

import numpy as np

from attention_limits.numerics.scaling import median_and_range
from attention_limits.plotting import house_style, new_figure
from attention_limits.sequence_single_index.figures.shared import NEUTRAL, POSITIONAL, SEMANTIC


@house_style
def draw(cubes):
    """Paths with their flow (left, cube position_paths), escape steps against d (right, position_with and position_without)."""
    figure, (left, right) = new_figure(1, 2, 8.0, 3.4)
    _paths(left, cubes["position_paths"].isel(dimension=0))
    _escape(right, cubes["position_with"], cubes["position_without"])
    return figure


def _paths(axes, cube):
    steps = cube.step.values
    for name, color, text in (("positional", POSITIONAL, "positional $|e|$"), ("semantic", SEMANTIC, "semantic $|m|$")):
        runs = cube[f"{name}_size_trajectory"].transpose("replica", "step").values
        for run in runs:
            axes.plot(steps, run, color=color, linewidth=0.6, alpha=0.6)
        axes.plot([], [], color=color, linewidth=0.6, label=f"{text}, {len(runs)} runs of SGD")
        axes.plot(
            steps,
            cube[f"{name}_size_flow"].isel(replica=0),
            color=color,
            linewidth=1.8,
            linestyle="--",
            label=f"{text}, flow",
        )
    axes.set(
        xlabel="steps of SGD $t$", ylabel="overlap", ylim=(0, 1), title=f"with encoding, $d = {int(cube.dimension)}$"
    )
    axes.legend(loc="upper right", ncols=2, columnspacing=1.0)


def _escape(axes, cube, without):
    d = cube.dimension.values.astype(float)
    median, low, high = median_and_range(cube.escape_step.values, cube.escaped.values)
    known = np.isfinite(median)
    axes.errorbar(
        d[known], median[known], [(median - low)[known], (high - median)[known]], fmt="o", color=POSITIONAL, markersize=4,
        capsize=2, elinewidth=1, label="SGD with encoding: median",
    )  # fmt: skip
    flow, error = cube.flow_step.isel(replica=0), cube.flow_step_error.isel(replica=0)
    axes.plot(d, flow, color=POSITIONAL, linestyle="--", label="flow with encoding")
    axes.fill_between(d, flow - error, flow + error, color=POSITIONAL, alpha=0.3, linewidth=0)
    late, censored = without.escape_step.values.max(axis=1), without.escaped.values
    x = without.dimension.values.astype(float)
    if not censored.any():
        axes.plot(x, late, "^", color=NEUTRAL, markersize=5, label=f"without: none of {censored.shape[1]} runs so far")
    else:
        median, low, high = median_and_range(without.escape_step.values, censored)
        axes.plot(x, median, "s", color=NEUTRAL, markersize=4, label="SGD without encoding, median")
    axes.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel="steps until $e^2 + m^2 > 1/4$")
    axes.set_xticks(d, [f"{value:g}" for value in d], minor=False)
    axes.set_xticks([], minor=True)
    axes.legend(loc="lower right")
