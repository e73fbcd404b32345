"""Learning curves of many attention layers to first order in 1 / c, from their reduced state evolution."""

from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import SERIES_COLORS, curve, house_style, new_figure, present


@house_style
def draw(cubes):
    """Overlap of the last layer (left) and of each layer before it (right) from the cube exchangeable_layers."""
    cube = cubes["exchangeable_layers"]
    figure, (left, right) = new_figure(1, 2, 6.8, 3.2, sharex=True, sharey=True)
    for k, depth in enumerate(cube.depth.values):
        for axes, name in ((left, "last_overlap"), (right, "shallow_overlap")):
            here = cube.sel(depth=depth)
            overlap = present(here[name].transpose("alpha", "replica"))
            sure = passed(here, name).sel(alpha=overlap.alpha).transpose("alpha", "replica").values
            color = SERIES_COLORS[k % len(SERIES_COLORS)]
            curve(axes, overlap.alpha.values, overlap.values, color, f"$L = {depth:g}$", flags=sure)
    left.axvline(1 / 6, color="0.5", linestyle=":", linewidth=1)
    left.plot([], [], ":", color="0.5", label="1/6")
    left.set(ylabel="overlap with the teacher", ylim=(-0.03, 1.05), title="last layer")
    right.set(title="each layer before the last one")
    for axes in (left, right):
        axes.set_xlabel(r"samples per dimension $\alpha = n/D$")
    left.legend(loc="best")
    return figure
