"""Atlas of thresholds: depth, length of the sequence, skip strength, inverse temperature, and other layers."""

import numpy as np
from matplotlib.ticker import ScalarFormatter

from attention_limits.plotting import BLACK, KEY, LAYER_COLORS, WIDE, house_style, largest, legend_below, new_figure
from attention_limits.sequence_multi_index.readings import (
    branch_of_layer,
    first_atlas_threshold,
    growth_threshold,
    layer_threshold_and_error,
    recovery_and_error,
)

# Two layers count as separated where their thresholds differ by more than so many standard errors of the difference.
SEPARATED = 2.0
# Points of layers that are not separated stand side by side, this fraction of the width of the axis apart.
APART = 0.025
VARIANTS = {
    "atlas_untied": ("heads", "untied scores, H = {:g}"),
    "atlas_heads": ("heads", "mean of softmaxes, H = {:g}"),
    "atlas_sequence": ("depth", "sequence output, L = {:g}"),
    "atlas_linear": ("depth", "linear attention, L = {:g}"),
}


@house_style
def draw(cubes):
    """Five panels from the cubes atlas_* and layer_order."""
    figure, (depth, tokens, skip, beta, variants) = new_figure(1, 5, WIDE, 4.6, width_ratios=(1, 1, 1, 1, 1.1))
    _depth(depth, cubes["atlas_depth"], cubes["atlas_deep"], cubes["layer_order"])
    _tokens(tokens, cubes["atlas_tokens"])
    _variants(variants, cubes)
    _layers(skip, cubes["atlas_skip"], "skip", "skip strength $c$, $L = 3$")
    _layers(beta, cubes["atlas_beta"], "beta", r"inverse temperature $\beta$, $L = 3$")
    # One scale for the thresholds of layers: down to that of one layer of the most tokens.
    lowest = min(0.1, 0.8 * float(tokens.dataLim.y0))
    for axes in (depth, tokens, skip, beta):
        axes.set_ylim(lowest, 3.0)
    for axes in (tokens, skip, beta):
        axes.tick_params(which="both", labelleft=False)
    depth.set_ylabel(r"samples per dimension $\alpha = n/D$")
    depth.plot([], [], "D", color=KEY, markersize=4, label="not separated from another layer")
    tokens.plot([], [], "v-", color=LAYER_COLORS[1], markersize=4, linewidth=1, label="one layer alone")
    legend_below(figure, (depth, tokens), ncols=5)
    return figure


def numbers(cubes):
    """The largest threshold of the last layer, of all depths."""
    found = []
    for cube in (cubes["atlas_depth"], cubes["atlas_deep"]):
        for depth in cube.depth.values:
            found.append(float(layer_threshold_and_error(cube.sel(depth=depth), int(depth))[0]))
    return {"deep": largest(found)}


def _plain_log(axes):
    """A logarithmic axis with plain numbers at 1, 2 and 5."""
    axes.set_yscale("log", subs=[2, 5])
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_formatter(ScalarFormatter())


def together(means, errors):
    """Whether the threshold of a layer agrees with that of another one, by `SEPARATED`; arrays (layers, points), bool alike.

    Missing thresholds (NaN) agree with none.
    """
    with np.errstate(invalid="ignore"):
        near = np.abs(means[:, None] - means) <= SEPARATED * np.hypot(errors[:, None], errors)
    near[np.diag_indices(len(means))] = False
    return near.any(axis=1)


def _layers(axes, cube, key, label, lines=True, labelled=True):
    """Thresholds of all layers against `key`; for layers that are not separated diamonds, moved aside."""
    x, layers = cube[key].values, cube.layer.values
    means, errors = (
        np.array(part) for part in zip(*(layer_threshold_and_error(cube, layer) for layer in layers), strict=True)
    )
    one_step = np.array([branch_of_layer(cube, layer).together.any("layer").values for layer in layers])
    close = together(means, errors) | (one_step & np.isfinite(means))
    width = APART * np.ptp(x) if len(x) > 1 else APART
    for k, layer in enumerate(layers):
        color, rank = LAYER_COLORS[layer], close[:k].sum(axis=0) - 0.5 * (close.sum(axis=0) - 1)
        moved = x + np.where(close[k], rank * width, 0.0)
        text = f"layer {layer} becomes learnable" if labelled else None
        if lines:
            axes.plot(moved, np.where(close[k], np.nan, means[k]), color=color, linewidth=1)
        for chosen, marker in ((~close[k], "o"), (close[k], "D")):
            axes.errorbar(
                moved[chosen], means[k, chosen], errors[k, chosen], color=color, marker=marker, markersize=4, capsize=2,
                elinewidth=1, linestyle="none", label=text if marker == "o" else None,
            )  # fmt: skip
    axes.axhline(1 / 6, color="0.5", linestyle=":", linewidth=1)
    axes.set(xlabel=label)
    _plain_log(axes)


def _depth(axes, cube, deep, order):
    # A layer has another distance from the output at each depth: no line connects its points.
    _layers(axes, deep, "depth", "number of layers $L$", lines=False)
    _layers(axes, cube, "depth", "number of layers $L$", lines=False, labelled=False)
    # The atlas holds only the first threshold of deeper models at `laptop`, and of the deepest one at `paper`. Layer 1 is next.
    without = deep.depth.values[np.isnan(layer_threshold_and_error(deep, 1)[0])]
    order = order.sel(depth=[depth for depth in order.depth.values if depth in without])
    if order.sizes["depth"]:
        axes.errorbar(
            order.depth, *growth_threshold(order, 1), color=LAYER_COLORS[1], marker="o", markersize=4, capsize=2,
            elinewidth=1, linestyle="none",
        )  # fmt: skip
    axes.errorbar(
        cube.depth, *recovery_and_error(cube), color=BLACK, marker="s", markersize=4, capsize=2, linestyle="none",
        label="exact recovery",
    )  # fmt: skip
    axes.set_xticks([*cube.depth.values, *deep.depth.values])


def _tokens(axes, cube):
    for depth, marker in zip(cube.depth.values, "vo", strict=False):
        for layer in range(1, int(depth) + 1):
            mean, error = layer_threshold_and_error(cube.sel(depth=depth), layer)
            axes.errorbar(
                cube.tokens, mean, error, color=LAYER_COLORS[layer], marker=marker, markersize=4, capsize=2, linewidth=1,
            )  # fmt: skip
    fine = cube.tokens.values
    axes.plot(fine, 1.0 / (fine * (fine + 1)), ":", color="0.5", label="one layer, $1/6$ or $1 / (M(M+1))$")
    axes.set(xlabel="number of tokens $M$, $L = 2$", xticks=fine)
    _plain_log(axes)


def _variants(axes, cubes):
    """The first threshold of each model, one line each."""
    names, means, errors = [], [], []
    for name, (key, text) in VARIANTS.items():
        cube = cubes[name]
        mean, error = first_atlas_threshold(cube)
        names += [text.format(value) for value in cube[key].values]
        means += list(mean)
        errors += list(error)
    # A sampled channel that the nodes do not resolve gives no number.
    found = [number for number, mean in enumerate(means) if np.isfinite(mean)]
    names, means, errors = ([values[number] for number in found] for values in (names, means, errors))
    place = np.arange(len(names))[::-1]
    axes.errorbar(means, place, xerr=errors, color=BLACK, marker="o", markersize=4, capsize=2, linestyle="none")
    axes.axvline(1 / 6, color="0.5", linestyle=":", linewidth=1)
    axes.set_yticks(place, names)
    axes.set(xlabel=r"first threshold $\alpha = n/D$", xlim=(0, None), ylim=(-0.5, len(names) - 0.5))
