"""Learning curves of many attention layers to first order in 1 / c, from their reduced state evolution."""

from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    KEY,
    MIDDLE,
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
    """Overlap of the last layer (left) and of each layer before it (right) from the cube exchangeable_layers."""
    cube = cubes["exchangeable_layers"]
    figure, (left, right) = new_figure(1, 2, MIDDLE, 3.4, sharex=True, sharey=True)
    for depth, color in zip(cube.depth.values, ordered_colors(cube.depth.values, logarithmic=True), strict=True):
        for axes, name in ((left, "last_overlap"), (right, "shallow_overlap")):
            here = cube.sel(depth=depth)
            overlap = present(here[name].transpose("alpha", "replica"))
            sure = passed(here, name).sel(alpha=overlap.alpha).transpose("alpha", "replica").values
            curve(axes, overlap.alpha.values, overlap.values, color, f"$L = {depth:g}$", flags=sure)
    mark_threshold(left, 1 / 6, KEY, label="1/6, with known layers before")
    left.set(ylabel="overlap with the teacher", ylim=(-0.03, 1.05), title="last layer")
    right.set(title="each layer before the last one")
    for axes in (left, right):
        axes.set_xlabel(r"samples per dimension $\alpha = n/D$")
    legend_below(figure, left)
    return figure
