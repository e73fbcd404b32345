"""Overlap of one attention layer while the other is held at a fixed overlap."""

import json

from attention_limits.figures.style import LAYER_COLORS, curve, house_style, new_figure


@house_style
def draw(cubes):
    """Both directions, from the cube fig5_held_overlap."""
    cube = cubes["fig5_held_overlap"]
    figure, axes = new_figure(1, 1, 4.6, 3.6)
    alpha = float(cube.alpha[0])
    cube = cube.sel(alpha=alpha)
    for free, held in ((2, 1), (1, 2)):
        part = cube.sel(held_layer=held)
        label = f"$Q_{{{free}{free}}}$ with $Q_{{{held}{held}}}$ held"
        curve(
            axes, cube.held.values, part.layer_overlap.sel(layer=free).values, LAYER_COLORS[free], label,
            converged=part.held_converged.values,
        )  # fmt: skip
    skip = json.loads(cube.attrs["spec"])["estimators"]["held_overlap"]["model"]["skip"]
    axes.set(
        xlabel="held overlap of the other layer", ylabel="overlap of the free layer", xlim=(0, 1), ylim=(-0.03, 1.05),
        title=rf"two layers, $\alpha = {alpha:g}$, skip $c = {skip:g}$",
    )  # fmt: skip
    axes.legend(loc="center left", bbox_to_anchor=(0.02, 0.6))
    return figure
