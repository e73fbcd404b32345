"""Which layer grows after the last one, against the depth and the skip strength."""

import numpy as np

from attention_limits.numerics.statistics import mean_and_error
from attention_limits.plotting import LAYER_COLORS, house_style, new_figure
from attention_limits.sequence_multi_index.readings import growth_at_threshold

# Replicas of a depth are thin lines, their means a thick one.
THIN = {"linewidth": 0.5, "alpha": 0.4}


@house_style
def draw(cubes):
    """Growth against alpha for each depth of the cube layer_order, and at the threshold of layer 1 from layer_order_skip."""
    figure, axes = new_figure(2, 2, 7.2, 5.6)
    *depths, skip = axes.flat
    cube = cubes["layer_order"]
    for panel, depth in zip(depths, cube.depth.values, strict=False):
        _growth(panel, cube.sel(depth=depth))
        panel.set(title=f"$L = {depth:g}$", xlabel=r"samples per dimension $\alpha = n/D$")
        panel.legend(loc="upper left")
    for panel in axes[:, 0]:
        panel.set_ylabel("growth of a small overlap per iteration")
    _skip(skip, cubes["layer_order_skip"])
    return figure


def _growth(axes, cube):
    """Factors of the layers, and those at the alpha where layer 1 begins to grow."""
    alpha, factors = growth_at_threshold(cube, 1)
    place, place_error = mean_and_error(alpha.values)
    for layer in cube.layer.values:
        factor = cube.growth_factor.sel(layer=layer).transpose("held", "replica")
        if not np.any(np.isfinite(factor)):
            continue
        x, color = cube.branch_alpha.transpose("held", "replica"), LAYER_COLORS[layer]
        axes.plot(x.values, factor.values, color=color, **THIN)
        axes.plot(x.mean("replica"), factor.mean("replica"), color=color, label=f"layer {layer}")
        height, error = mean_and_error(factors.sel(layer=layer).values)
        axes.errorbar(
            place, height, error if layer > 1 else None, place_error, color=color, marker="o", markersize=4, capsize=2,
            linestyle="none",
        )  # fmt: skip
    axes.axhline(1.0, color="0.5", linestyle=":", linewidth=1)
    axes.set(ylim=(0, 1.6))


def _skip(axes, cube):
    """Factor of layer 2 of three layers where layer 1 begins to grow."""
    _, factors = growth_at_threshold(cube, 1)
    mean, error = mean_and_error(factors.sel(layer=2).transpose("skip", "replica").values, axis=-1)
    axes.set(xscale="log", xlim=(0.9 * float(cube.skip.min()), 1.1 * float(cube.skip.max())))
    axes.errorbar(cube.skip, mean, error, color=LAYER_COLORS[2], marker="o", markersize=4, capsize=2)
    axes.axhline(1.0, color="0.5", linestyle=":", linewidth=1)
    axes.set(
        xlabel="skip strength $c$ ($L = 3$)", ylabel="growth of layer 2 at the\nthreshold of layer 1", ylim=(0, None),
    )  # fmt: skip
    axes.set_xticks(cube.skip.values)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
