"""Overlap of one attention layer while the other is held at a fixed overlap."""

import numpy as np

from attention_limits.numerics.probability.power_laws import first_reached
from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    KEY,
    LAYER_COLORS,
    NARROW,
    curve,
    house_style,
    new_figure,
    points,
    present,
    say_why,
)

# A layer with a larger overlap is learned.
_LEARNED = 0.01


@house_style
def draw(cubes):
    """Both directions, from the cube fig5_held_overlap."""
    cube = cubes["fig5_held_overlap"]
    figure, axes = new_figure(1, 1, NARROW, 3.8)
    alpha = float(cube.alpha[0])
    cube = cube.sel(alpha=alpha)
    dimension = specifications(cube)["held_gamp"]["solver"]["dimension"]
    for free, held in ((2, 1), (1, 2)):
        color, label = LAYER_COLORS[free], f"$Q_{{{free}{free}}}$ with $Q_{{{held}{held}}}$ held"
        theory, gamp = (
            cube.sel(held_layer=held, estimator=name).transpose("held", "replica", ...)
            for name in ("held_overlap", "held_gamp")
        )
        overlap = present(theory.layer_overlap.sel(layer=free), "held")
        # Also one fixed point from both starts.
        flags = (passed(theory, "layer_overlap") * theory.held_unique).sel(held=overlap.held).values
        curve(axes, 1.0 - overlap.held.values, overlap.values, color, label, flags=flags)
        overlap = present(gamp.layer_overlap.sel(layer=free), "held")
        flags = passed(gamp, "layer_overlap").sel(held=overlap.held).values
        points(axes, 1.0 - overlap.held.values, overlap.values, flags, color, None)
    say_why(axes, "one replica, not settled or not unique")
    axes.plot([], [], "o", color=KEY, markersize=4, label=f"GAMP, $D = {dimension}$")
    skip = specifications(cube)["held_overlap"]["model"]["skip"]
    axes.set(
        xlabel=r"$1 - Q$ of the other layer, held", ylabel="overlap of the free layer", xscale="log", xlim=(1.0, 1e-3),
        ylim=(-0.03, 1.05),
    )  # fmt: skip
    figure.suptitle(rf"two layers, $\alpha = {alpha:g}$, skip $c = {skip:g}$", fontsize=9)
    # Exact recovery is at infinity to the right, nothing at the left.
    top = axes.secondary_xaxis("top", functions=(np.copy, np.copy))
    top.set_ticks([1.0, 0.5, 0.1, 0.05, 0.01, 0.001], ["0", "0.5", "0.9", "0.95", "0.99", "0.999"], fontsize=7)
    top.minorticks_off()
    top.set_xlabel("held overlap $Q$", fontsize=8)
    axes.legend(loc="center left", bbox_to_anchor=(0.02, 0.6))
    return figure


def numbers(cubes):
    """The overlap of the last layer from which on the first one is learned, and alpha."""
    part = cubes["fig5_held_overlap"].isel(alpha=0).sel(held_layer=2, estimator="held_overlap")
    overlap = part.layer_overlap.sel(layer=1)
    sound = passed(part, "layer_overlap") * part.held_unique
    mean = overlap.where(sound == 1).mean("replica").dropna("held")
    return {"held": first_reached(mean.held.values, mean.values, _LEARNED), "alpha": float(part.alpha)}
