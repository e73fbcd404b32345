"""Attention of several heads: thresholds against their number, and the order of two, with fixed and with learned readout."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    BLACK,
    DOTS,
    GREEN,
    KEY,
    LAYER_COLORS,
    ORANGE,
    PURPLE,
    WIDE,
    curve,
    house_style,
    new_figure,
    present,
    say_why,
)
from attention_limits.sequence_multi_index.figures.shared import NOT_SETTLED
from attention_limits.sequence_multi_index.readings import layer_threshold_and_error

# Blue and vermilion are the heads of the other panels.
KINDS = {"atlas_heads": ("tied", GREEN), "atlas_untied_multi_head": ("queries and keys", BLACK)}


@house_style
def draw(cubes):
    """Overlaps from heads_fixed_readout and heads_learned_readout, thresholds from atlas_heads and atlas_untied_multi_head."""
    figure, (thresholds, fixed, learned) = new_figure(1, 3, WIDE, 3.6, width_ratios=[1.3, 1, 1])
    _thresholds(thresholds, cubes)
    cube = cubes["heads_fixed_readout"]
    weights = specifications(cube)["state_evolution"]["model"]["readout"]
    for head, weight in enumerate(weights, start=1):
        _overlap(fixed, cube, [head], LAYER_COLORS[head], f"head {head}, weight {weight:g}")
    fixed.set_title("two heads, fixed readout")
    cube = cubes["heads_learned_readout"]
    heads = specifications(cube)["state_evolution"]["model"]["heads"]
    rows = cube.layer.values
    _overlap(learned, cube, rows[:heads], PURPLE, "heads, mean")
    _overlap(learned, cube, rows[heads:], ORANGE, "values, mean")
    learned.set_title("two heads, learned readout")
    for axes in (fixed, learned):
        axes.set(xlabel=r"samples per dimension $\alpha = n/D$", ylabel="overlap with the teacher", ylim=(-0.03, 1.05))
        say_why(axes, NOT_SETTLED)
        axes.legend(loc="upper left")
    return figure


def _overlap(axes, cube, rows, color, label):
    """Mean overlap of some rows against alpha."""
    overlap = present(sum(cube.overlap.sel(layer=row, layer_star=row, drop=True) for row in rows) / len(rows))
    overlap = overlap.squeeze("estimator", drop=True) if "estimator" in overlap.dims else overlap
    flags = (
        passed(cube, "overlap").squeeze("estimator", drop=True) if "estimator" in cube.dims else passed(cube, "overlap")
    )
    overlap, flags = (part.transpose("alpha", "replica") for part in (overlap, flags.sel(alpha=overlap.alpha)))
    curve(axes, overlap.alpha.values, overlap.values, color, label, flags=flags.values, **DOTS)


def _thresholds(axes, cubes):
    """First thresholds against the number of heads: heads that read the whole embedding, and heads that split it."""
    for name, (label, color) in KINDS.items():
        cube = cubes[name]
        heads = cube["heads"].values
        mean, error = (np.squeeze(part) for part in layer_threshold_and_error(cube, 1))
        axes.errorbar(heads, mean, error, color=color, marker="o", markersize=4, capsize=2, label=label)
        axes.plot(heads, mean / heads, color=color, marker="s", markersize=3, linestyle="--")
    axes.plot([], [], "o-", color=KEY, markersize=4, label="each reads the embedding")
    axes.plot([], [], "s--", color=KEY, markersize=3, label="they split the embedding")
    axes.set(xlabel="heads $H$", ylabel=r"threshold $\alpha_c = n/D$", ylim=(0, None), xticks=heads)
    axes.set_title("mean of the heads")
    axes.legend(loc="upper left")
