"""Which layer grows after the last one, against the depth and the skip strength."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import LAYER_COLORS, MIDDLE, flagged_points, house_style, legend_below, new_figure
from attention_limits.sequence_multi_index.readings import growth_factors_at_threshold, growth_threshold

# Replicas of a depth are thin lines, their means a thick one.
THIN = {"linewidth": 0.5, "alpha": 0.4}

# Depths whose thresholds the notes give.
_DEPTHS = (3, 4, 5)


@house_style
def draw(cubes):
    """Growth against alpha for each depth of layer_order; at the threshold of layer 1 from layer_order_skip and _rescaled."""
    figure, axes = new_figure(2, 2, MIDDLE, 5.8)
    *depths, skip = axes.flat
    cube = cubes["layer_order"]
    for panel, depth in zip(depths, cube.depth.values, strict=False):
        _growth(panel, cube.sel(depth=depth))
        panel.set(title=f"$L = {depth:g}$", xlabel=r"samples per dimension $\alpha = n/D$")
    for panel in axes[:, 0]:
        panel.set_ylabel("growth factor of a small overlap")
    _skip(skip, cubes["layer_order_skip"], cubes["layer_order_rescaled"])
    legend_below(figure, depths)
    return figure


def _growth(axes, cube):
    """Factors of the layers, and those at the alpha where layer 1 begins to grow while the last layer alone is known."""
    place, place_error = growth_threshold(cube, 1)
    heights, errors = growth_factors_at_threshold(cube, 1)
    for number, layer in enumerate(cube.layer.values):
        factor = cube.growth_factor.sel(layer=layer).transpose("held", "replica")
        if not np.any(np.isfinite(factor)):
            continue
        x, color = cube.branch_alpha.transpose("held", "replica"), LAYER_COLORS[layer]
        resolved = passed(cube.sel(layer=layer), "growth_factor").transpose("held", "replica") == 1
        flagged_points(
            axes, x.where(~resolved).values.ravel(), factor.values.ravel(), color, "one replica, too few nodes"
        )
        x, factor = x.where(resolved), factor.where(resolved)
        axes.plot(x.values, factor.values, color=color, **THIN)
        means = (part.mean("replica", skipna=False) for part in (x, factor))
        axes.plot(*means, color=color, label=f"layer {layer}")
        axes.errorbar(
            place, heights[number], errors[number] if layer > 1 else None, place_error, color=color, marker="o",
            markersize=4, capsize=2, linestyle="none",
        )  # fmt: skip
    axes.axhline(1.0, color="0.5", linestyle=":", linewidth=1)
    axes.set(ylim=(0, 1.6))


def _skip(axes, deep, rescaled):
    """Factor of layer 2 of three layers where layer 1 begins to grow, for the layers and for rescaled ones."""
    depth = 3
    for cube, c, label, look in (
        (deep, deep.skip.values, "layers not rescaled", {"marker": "o", "linestyle": "none"}),
        (rescaled, depth / rescaled.ratio.values, "layers rescaled by $1/c$", {"marker": "s", "linestyle": "none"}),
    ):
        mean, error = (values[..., 1] for values in growth_factors_at_threshold(cube, 1))
        axes.errorbar(c, mean, error, color=LAYER_COLORS[2], markersize=4, capsize=2, label=label, **look)
    axes.axhline(1.0, color="0.5", linestyle=":", linewidth=1)
    axes.set(xscale="log", xlim=(0.85 * float(deep.skip.min()), 1.2 * float(deep.skip.max())), ylim=(0, None))
    axes.set(xlabel="skip strength $c$ ($L = 3$)", ylabel="growth factor of layer 2\nat the threshold of layer 1")
    axes.set_xticks(deep.skip.values)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    axes.legend(loc="lower right")


def numbers(cubes):
    """Thresholds of layer 1 by depth, and the largest factor of layer 2 against the skip strength, with their errors."""
    cube, deep = cubes["layer_order"], cubes["layer_order_skip"]
    found = {}
    for depth in _DEPTHS:
        known = depth in cube.depth
        place, error = growth_threshold(cube.sel(depth=depth), 1) if known else (np.nan, np.nan)
        found |= {f"depth_{depth}": float(place), f"depth_{depth}_error": float(error)}
    factor, error = (values[..., 1] for values in growth_factors_at_threshold(deep, 1))
    place = int(np.nanargmax(factor)) if np.isfinite(factor).any() else 0
    found |= {"largest": factor[place], "largest_error": error[place], "largest_skip": deep.skip.values[place]}
    return {name: float(value) for name, value in found.items()}
