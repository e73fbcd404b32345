"""Attention of several heads: their order, with fixed and with learned readout and where they split the embedding, and
thresholds against their number."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    BLUE,
    KEY,
    LAYER_COLORS,
    MIDDLE,
    ORANGE,
    PURPLE,
    VERMILLION,
    curve,
    house_style,
    new_figure,
    present,
)
from attention_limits.sequence_multi_index.figures.shared import draw_layer
from attention_limits.sequence_multi_index.readings import layer_threshold_and_error

KINDS = {"atlas_heads": ("tied", BLUE), "atlas_untied_multi_head": ("queries and keys", VERMILLION)}


@house_style
def draw(cubes):
    """Overlaps from heads_fixed_readout, heads_split and heads_learned_readout, thresholds from both atlas cubes."""
    figure, ((fixed, split), (learned, thresholds)) = new_figure(2, 2, MIDDLE, 6.4)
    cube = cubes["heads_fixed_readout"]
    weights = specifications(cube)["state_evolution"]["model"]["readout"]
    for head, weight in enumerate(weights, start=1):
        _overlap(fixed, cube, [head], LAYER_COLORS[head], f"head {head}, weight {weight:g}")
    fixed.set_title("fixed readout")
    _split(split, cubes["heads_split"])
    cube = cubes["heads_learned_readout"]
    heads = specifications(cube)["state_evolution"]["model"]["heads"]
    rows = cube.layer.values
    _overlap(learned, cube, rows[:heads], PURPLE, "heads, mean")
    _overlap(learned, cube, rows[heads:], ORANGE, "values, mean")
    learned.set_title("learned readout")
    for axes in (fixed, split, learned):
        axes.set(xlabel=r"samples per dimension $\alpha = n/D$", ylabel="overlap with the teacher", ylim=(-0.03, 1.05))
        axes.legend(loc="upper left")
    _thresholds(thresholds, cubes)
    return figure


def _split(axes, cube):
    """Overlaps of heads that read one half of the embedding each: state evolution and GAMP."""
    model = specifications(cube)["gamp"]
    theory, gamp = (cube.sel(estimator=name) for name in ("state_evolution", "gamp"))
    for head, weight in enumerate(model["model"]["readout"], start=1):
        name = f"head {head}, weight {weight:g}"
        draw_layer(axes, theory, gamp, head, (name, rf"GAMP, $D = {model['solver']['dimension']}$"))
    axes.set_title("fixed readout, split embedding")


def _overlap(axes, cube, rows, color, label):
    """Mean overlap of some rows against alpha."""
    overlap = present(sum(cube.overlap.sel(layer=row, layer_star=row, drop=True) for row in rows) / len(rows))
    overlap = overlap.squeeze("estimator", drop=True) if "estimator" in overlap.dims else overlap
    flags = (
        passed(cube, "overlap").squeeze("estimator", drop=True) if "estimator" in cube.dims else passed(cube, "overlap")
    )
    overlap, flags = (part.transpose("alpha", "replica") for part in (overlap, flags.sel(alpha=overlap.alpha)))
    curve(axes, overlap.alpha.values, overlap.values, color, label, flags=flags.values)


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
