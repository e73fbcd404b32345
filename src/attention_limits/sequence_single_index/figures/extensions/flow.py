"""Runs of SGD beside the differential equation of the limit d -> infinity."""

import numpy as np

from attention_limits.plotting import MIDDLE, house_style, legend_below, new_figure
from attention_limits.sequence_single_index.figures.shared import POSITIONAL, SEMANTIC

PANELS = {"flow_semantic": "$He_2(z_1) + He_2(z_2)$", "flow_positional": "$4/3 + He_4(z_1) + 2He_4(z_2)$"}
OVERLAPS = (("positional", POSITIONAL, "positional $|e|$"), ("semantic", SEMANTIC, "semantic $|m|$"))


@house_style
def draw(cubes):
    """Overlaps against steps over d, one panel for each of the cubes flow_semantic and flow_positional."""
    figure, axes = new_figure(1, 2, MIDDLE, 3.6, sharey=True)
    for panel, (name, target) in zip(axes, PANELS.items(), strict=True):
        cube = cubes[name].isel(dimension=0)
        time = cube.step.values / int(cube.dimension)
        for overlap, color, text in OVERLAPS:
            runs = cube[f"{overlap}_size_trajectory"].transpose("replica", "step").values
            panel.plot(time, runs.T, color=color, linewidth=0.6, alpha=0.6)
            panel.plot([], [], color=color, linewidth=0.6, label=f"{text}, {len(runs)} runs")
            panel.plot(
                time, cube[f"{overlap}_size_flow"].isel(replica=0), color=color, linestyle="--", label=f"{text}, ODE"
            )
        panel.set(xlabel=r"steps of SGD over dimension, $\tau = t/d$", ylim=(0, 1))
        panel.set_title(f"target {target}, $d = {int(cube.dimension)}$")
    axes[0].set(ylabel="overlap")
    legend_below(figure, axes[0])
    return figure


def numbers(cubes):
    """The largest distance of the semantic overlap of a run from the equation, on the target of order four."""
    cube = cubes["flow_positional"]
    return {"stray": float(np.abs(cube.semantic_size_trajectory - cube.semantic_size_flow).max())}
