"""Is there a hard phase? Overlap from the informed minus that from the uninformed start."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import LAYER_COLORS, NARROW, house_style, new_figure, points, present


@house_style
def draw(cubes):
    """The difference with its error, from the cube fig1_learning_curve; both starts share the nodes of a replica."""
    cube = cubes["fig1_learning_curve"]
    uninformed, informed = (cube.sel(estimator=name) for name in ("state_evolution", "state_evolution_informed"))
    figure, axes = new_figure(1, 1, NARROW, 3.4)
    for layer, shift in ((1, -0.006), (2, 0.006)):
        difference = present((informed.overlap - uninformed.overlap).sel(layer=layer, layer_star=layer))
        settled = passed(informed, "overlap") * passed(uninformed, "overlap")
        x, flags = difference.alpha.values + shift, settled.sel(alpha=difference.alpha).values
        points(axes, x, difference.values, flags, LAYER_COLORS[layer], f"layer {layer}")
    axes.axhline(0, color="0.5", linewidth=0.8, zorder=0)
    largest = np.nanmax(np.abs(axes.get_ylim()))
    axes.set(
        xlabel=r"samples per dimension $\alpha = n/D$", ylabel=r"$Q_{ll}$, informed $-$ uninformed start",
        xlim=(0, 1.6), ylim=(-largest, largest),
    )  # fmt: skip
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 2))
    axes.legend(loc="upper left")
    return figure
