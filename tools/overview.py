"""The map of the four families in the README, docs/figures/overview.png, with numbers of the captions of four figures."""

from collections import defaultdict
from pathlib import Path

import numpy as np
from matplotlib.patches import Rectangle

from attention_limits.pipeline.audit import number_text
from attention_limits.pipeline.base.attributes import numbers_of_picture
from attention_limits.pipeline.base.files import replacing
from attention_limits.pipeline.experiments.figures import MISSING
from attention_limits.plotting import BLUE, GREEN, LAYER_COLORS, MIDDLE, VERMILLION, house_style, new_figure

NAME = "overview"
# Of each family: its figure, what is known before, the law with the names of its numbers, what the law counts.
CELLS = {
    "sequence_multi_index": (
        "smi_fig1_left",
        "attention layers of fixed rank, weights $W$ of $p \\times D$",
        "$n$ = {alpha_1} $D$",
        "samples above which both of two layers are\nlearned; the last one needs {alpha_2} $D$",
    ),
    "attention_indexed": (
        "aim_fig2_left",
        "attention layers of a width that grows with $d$",
        "$n$ = {recovery} $d^2$",
        "samples above which a softmax layer of\nwidth {ratio} $d$ is known exactly",
    ),
    "sequence_single_index": (
        "ssi_escape",
        "one layer, trained by online SGD",
        "steps ∝ $d^{{\\,{third}}}$",
        "steps until SGD leaves its random start,\nat information exponent 3",
    ),
    "potts_mlm": (
        "potts_fig2",
        "masked tokens of sequences with pair interactions",
        "excess loss ∝ $M^{{\\,{exponent}}}$",
        "above the optimum, of factored attention\nthat learns from $M$ sequences",
    ),
}


def numbers(pictures):
    """By family: the numbers of its picture in the folder `pictures` as texts, with the error in brackets where there is one."""
    found = {}
    for family, (figure, *_) in CELLS.items():
        known = numbers_of_picture(pictures / f"{figure}.png")
        found[family] = defaultdict(lambda: MISSING)
        for name, value in known.items():
            found[family][name] = number_text(value, known.get(f"{name}_error", 0.0))
    return found


@house_style
def draw(texts):
    """The figure with the texts of `numbers`: above the limits of any learner, below training."""
    figure, axes = new_figure(1, 1, MIDDLE, 4.3)
    axes.set(xlim=(0, 2), ylim=(-0.04, 2.04))
    axes.set_axis_off()
    looks = zip(CELLS.items(), (BLUE, VERMILLION, GREEN, "0.35"), (_rows, _wide, _runs, _map), strict=True)
    for place, ((family, (_, setting, law, meaning)), color, sketch) in enumerate(looks):
        left, bottom = place % 2, 1 - place // 2
        axes.add_patch(Rectangle((left + 0.02, bottom + 0.03), 0.96, 0.94, facecolor=color, alpha=0.08, linewidth=0))
        axes.text(left + 0.06, bottom + 0.88, family, color=color, fontweight="bold", fontsize=10, va="center")
        axes.text(left + 0.06, bottom + 0.75, setting, fontsize=8, va="center")
        axes.text(left + 0.29, bottom + 0.50, law.format_map(texts[family]), fontsize=15, va="center")
        axes.text(
            left + 0.29, bottom + 0.22, meaning.format_map(texts[family]), fontsize=8, va="center", linespacing=1.4
        )
        sketch(axes, left + 0.06, bottom + 0.16, color)
    return figure


# Sketches, 0.18 wide and 0.48 high, from their lower left corner.
def _rows(axes, x, y, color):
    """Two layers of rank one."""
    for number, layer in enumerate((1, 2)):
        axes.add_patch(Rectangle((x, y + 0.30 * number), 0.17, 0.05, color=LAYER_COLORS[layer], linewidth=0))


def _wide(axes, x, y, color):
    """A matrix of extensive width."""
    axes.add_patch(Rectangle((x + 0.03, y), 0.09, 0.42, color=color, alpha=0.8, linewidth=0))


def _runs(axes, x, y, color):
    """The overlap during a search and a fast escape."""
    time = np.linspace(0.0, 1.0, 60)
    for delay in (0.45, 0.6, 0.75):
        axes.plot(x + 0.17 * time, y + 0.42 / (1 + np.exp(-22 * (time - delay))), color=color, linewidth=1.2)


def _map(axes, x, y, color):
    """A map of contacts."""
    size, known = 6, {(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 4), (1, 5), (2, 5)}
    for row in range(size):
        for column in range(size):
            if (min(row, column), max(row, column)) in known:
                corner = (x + 0.028 * column, y + 0.06 + 0.052 * (size - 1 - row))
                axes.add_patch(Rectangle(corner, 0.026, 0.048, color=color, linewidth=0))


def write(pictures: Path):
    """Draw the map from the pictures of a folder into it."""
    with replacing(pictures / f"{NAME}.png") as temporary:
        draw(numbers(pictures)).savefig(temporary, metadata={"Software": None})
