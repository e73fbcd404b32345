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
    say_why,
)
from attention_limits.sequence_multi_index.figures.shared import NOT_SETTLED

# Variables and titles of the panels; above the overlap _KNOWN a layer counts as known, below one minus this as not learned.
_OVERLAPS = {"last_overlap": "last layer", "shallow_overlap": "each layer before it"}
_KNOWN = 0.99


@house_style
def draw(cubes):
    """Overlap of the last layer (left) and of each layer before it (right) from the cube exchangeable_layers."""
    cube = cubes["exchangeable_layers"]
    figure, panels = new_figure(1, 2, MIDDLE, 3.6, sharex=True, sharey=True)
    for depth, color in zip(cube.depth.values, ordered_colors(cube.depth.values, logarithmic=True), strict=True):
        here = cube.sel(depth=depth)
        for axes, name in zip(panels, _OVERLAPS, strict=True):
            overlap = present(here[name].transpose("alpha", "replica"))
            sure = passed(here, name).sel(alpha=overlap.alpha).transpose("alpha", "replica").values
            curve(axes, overlap.alpha.values, overlap.values, color, f"$L = {depth:g}$", flags=sure)
    mark_threshold(panels[0], 1 / 6, KEY, label="1/6, if the layers before it are known")
    for axes, title in zip(panels, _OVERLAPS.values(), strict=True):
        say_why(axes, NOT_SETTLED)
        axes.set(title=title, xlabel=r"samples per dimension $\alpha = n/D$", ylim=(-0.03, 1.05))
    panels[0].set(ylabel="overlap with the teacher")
    legend_below(figure, panels)
    return figure


def numbers(cubes):
    """From which alpha the last layer is known at every depth, up to which the others are not learned, and the resolved outputs.

    The outputs in per cent: of all replicas from alpha = 2 on, the least and the most.
    """
    cube = cubes["exchangeable_layers"]
    last, shallow = (cube[name].where(passed(cube, name) == 1).mean("replica") for name in _OVERLAPS)
    both = last.notnull().all("depth")
    known = cube.alpha.where(both & (last > _KNOWN).all("depth"))
    unlearned = cube.alpha.where(both & (shallow < 1.0 - _KNOWN).all("depth"))
    late = 100.0 * cube.resolved.where(cube.alpha >= 2.0)
    ends = {"known": known.min(), "unlearned": unlearned.max(), "least": late.min(), "most": late.max()}
    return {name: float(end) for name, end in ends.items()}
