"""Learning curves of many attention layers to first order in 1 / c, from their reduced state evolution."""

from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    KEY,
    NARROW,
    curve,
    house_style,
    legend_below,
    mark_threshold,
    new_figure,
    ordered_colors,
    present,
)


@house_style
def draw(cubes):
    """Overlap of the last layer (solid) and of each layer before it (dashed) from the cube exchangeable_layers."""
    cube = cubes["exchangeable_layers"]
    figure, axes = new_figure(1, 1, NARROW, 3.6)
    for depth, color in zip(cube.depth.values, ordered_colors(cube.depth.values, logarithmic=True), strict=True):
        here = cube.sel(depth=depth)
        for name, style, label in (("last_overlap", "-", f"$L = {depth:g}$"), ("shallow_overlap", "--", None)):
            overlap = present(here[name].transpose("alpha", "replica"))
            sure = passed(here, name).sel(alpha=overlap.alpha).transpose("alpha", "replica").values
            curve(axes, overlap.alpha.values, overlap.values, color, label, style, flags=sure)
    axes.plot([], [], "-", color=KEY, label="last layer")
    axes.plot([], [], "--", color=KEY, label="each layer before it")
    mark_threshold(axes, 1 / 6, KEY, label="1/6, layers before it known")
    axes.set(xlabel=r"samples per dimension $\alpha = n/D$", ylabel="overlap with the teacher", ylim=(-0.03, 1.05))
    legend_below(figure, axes, ncols=2)
    return figure
