"""Which order of interaction one, two and three stacked layers of factored attention learn."""

import numpy as np

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.plotting import LAYER_COLORS, MIDDLE, house_style, legend_below, new_figure, points, say_why
from attention_limits.potts_mlm.figures.shared import layers_name, level

# Entry of the open circles.
UNEQUAL_CHAINS = "chains of both starts disagree"
_MARKERS = {1: "o", 2: "s", 3: "^", 4: "D", 5: "v"}


@house_style
def draw(cubes):
    """By order, from the cube stacked_orders: share of the learnable loss, and share of the terms in the logits."""
    cube = cubes["stacked_orders"].isel(samples=-1)
    figure, (losses, shares) = new_figure(1, 2, MIDDLE, 3.6)
    for axes, array in zip((losses, shares), _shares(cube), strict=True):
        _by_depth(axes, array, cube)
        say_why(axes, UNEQUAL_CHAINS)
        level(axes, 1.0, "all there is to learn", linestyle="--")
        axes.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
        axes.set(xticks=cube.order.values, xlabel="sites of a term $q$")
    losses.set(ylabel="share of the learnable loss")
    shares.set(ylabel="share of the terms in the logits")
    legend_below(figure, (losses,), ncols=3)
    return figure


def numbers(cubes):
    """The share in the logits that two layers have of the terms of three sites; the share of the loss, in per cent, that one
    layer gains on them. With standard errors.
    """
    cube = cubes["stacked_orders"].isel(samples=-1)
    gained, of_order = (share.where(cube.stacked_in_equilibrium == 1) for share in _shares(cube))
    found = {}
    for name, array, depth in (("two", of_order, 2), ("loss", 100.0 * gained, 1)):
        there = 3 in cube.order and depth in cube.depth
        values = array.sel(depth=depth, order=3).values if there else np.full(1, np.nan)
        found[name], found[f"{name}_error"] = mean_and_error(values)
    return found | {"epochs": float(cube.epoch[-1]), "samples": float(cube.samples)}


def _shares(cube):
    """Share of the learnable loss, and share of the terms in the logits, over order, depth and replica."""
    learnable = cube.stacked_independent_loss - cube.stacked_optimal_loss
    gained = (cube.stacked_independent_loss - cube.stacked_test_loss.isel(epoch=-1)) / learnable
    # Of the terms that are there: those of the order of the model.
    return gained, cube.stacked_fraction.isel(epoch=-1).sel(interaction=cube.order)


def _by_depth(axes, array, cube):
    """Means over the instances, the depths side by side."""
    middle = 0.5 * (cube.sizes["depth"] - 1)
    for number, depth in enumerate(cube.depth.values):
        one = array.sel(depth=depth).transpose("order", "replica")
        flags = cube.stacked_in_equilibrium.sel(depth=depth).transpose("order", "replica")
        x = one.order.values + 0.12 * (number - middle)
        points(
            axes, x, one.values, flags.values, LAYER_COLORS[int(depth)], layers_name(depth), _MARKERS[int(depth)],
            jump=None,
        )  # fmt: skip
