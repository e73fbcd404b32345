"""Which order of interaction one, two and three stacked layers of factored attention learn."""

from attention_limits.plotting import (
    LAYER_COLORS,
    WIDE,
    curve,
    house_style,
    legend_below,
    new_figure,
    ordered_colors,
    points,
)
from attention_limits.potts_mlm.figures.shared import level

_MARKERS = {1: "o", 2: "s", 3: "^", 4: "D", 5: "v"}


@house_style
def draw(cubes):
    """Share of the learnable loss by order (stacked_orders); share of each order by depth and by epoch (stacked_mixture)."""
    alone, mixture = cubes["stacked_orders"].isel(samples=-1), cubes["stacked_mixture"].isel(samples=-1, order=0)
    figure, (by_order, shares, by_epoch) = new_figure(1, 3, WIDE, 3.8)
    _by_order(by_order, alone)
    _shares(shares, mixture)
    _by_epoch(by_epoch, mixture)
    legend_below(figure, (by_order, by_epoch), ncols=6)
    return figure


def _name(depth):
    return f"{depth:g} layer{'s' if depth > 1 else ''}"


def _by_order(axes, cube):
    learnable = cube.stacked_independent_loss - cube.stacked_optimal_loss
    share = (cube.stacked_independent_loss - cube.stacked_test_loss.isel(epoch=-1)) / learnable
    width = 0.12
    for number, depth in enumerate(cube.depth.values):
        one = share.sel(depth=depth).transpose("order", "replica")
        flags = cube.stacked_in_equilibrium.sel(depth=depth).transpose("order", "replica")
        x = one.order.values + width * (number - 0.5 * (cube.sizes["depth"] - 1))
        points(axes, x, one.values, flags.values, LAYER_COLORS[int(depth)], _name(depth), _MARKERS[int(depth)])
    level(axes, 1.0, "all there is to learn", linestyle="--")
    axes.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
    axes.set(
        xticks=cube.order.values, xlabel="sites of a term $q$, one order alone", ylabel="share of the learnable loss"
    )


def _shares(axes, cube):
    last = cube.stacked_fraction.isel(epoch=-1).dropna("interaction", how="all")
    for number, depth in enumerate(cube.depth.values):
        one = last.sel(depth=depth).transpose("interaction", "replica")
        flags = cube.stacked_in_equilibrium.sel(depth=depth).broadcast_like(one).transpose(*one.dims)
        x = one.interaction.values + 0.12 * (number - 0.5 * (cube.sizes["depth"] - 1))
        points(axes, x, one.values, flags.values, LAYER_COLORS[int(depth)], _name(depth), _MARKERS[int(depth)])
    for value, look in ((1.0, {"color": "0.4", "linestyle": "--"}), (0.0, {"color": "0.8"})):
        axes.axhline(value, linewidth=0.8, zorder=0, **look)
    axes.set(
        xticks=last.interaction.values,
        xlabel="sites of a term $q$, all orders at once",
        ylabel="share of this order in the logits",
    )


def _by_epoch(axes, cube):
    deepest = int(cube.depth.max())
    part = cube.stacked_fraction.sel(depth=deepest).dropna("interaction", how="all")
    flags = cube.stacked_in_equilibrium.sel(depth=deepest)
    colors = ordered_colors(range(part.sizes["interaction"]))
    for order, color in zip(part.interaction.values, colors, strict=True):
        one = part.sel(interaction=order).transpose("epoch", "replica")
        curve(
            axes,
            one.epoch,
            one.values,
            color,
            f"$q = {order}$",
            flags=flags.broadcast_like(one).transpose(*one.dims).values,
        )
    axes.axhline(1.0, color="0.4", linestyle="--", linewidth=0.8, zorder=0)
    axes.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
    axes.set(xlabel=f"epochs, {_name(deepest)}", ylabel="share of this order in the logits")
