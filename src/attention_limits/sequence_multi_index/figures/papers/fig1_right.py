"""Weak-recovery thresholds of two-layer attention against the skip strength."""

import numpy as np

from attention_limits.plotting import KEY, LAYER_COLORS, NARROW, PHASE_COLORS, house_style, new_figure, published_points
from attention_limits.sequence_multi_index.figures.papers.published import FIG1_THRESHOLDS
from attention_limits.sequence_multi_index.readings import layer_threshold_and_error

# End of the axis: room for the legend above the thresholds.
HIGHEST = 1.25


@house_style
def draw(cubes):
    """Phase diagram from the cube fig1_thresholds."""
    cube = cubes["fig1_thresholds"]
    figure, axes = new_figure(1, 1, NARROW, 3.8)
    skip = cube.skip.values
    lines = {layer: layer_threshold_and_error(cube, layer) for layer in (1, 2)}
    edges = [np.zeros_like(skip), lines[2][0], lines[1][0], np.full_like(skip, HIGHEST)]
    names = ("nothing is learned", "layer 2 is learned", "both layers are learned")
    for low, high, layer, name in zip(edges[:-1], edges[1:], (0, 2, 1), names, strict=True):
        axes.fill_between(skip, low, high, color=PHASE_COLORS[layer], linewidth=0, zorder=0)
        axes.text(2.5, 0.5 * (low[-1] + high[-1]), name, ha="center", va="center", fontsize=8)
    for layer, (mean, error) in lines.items():
        axes.errorbar(
            skip, mean, error, color=LAYER_COLORS[layer], marker="o", markersize=3, capsize=2,
            label=rf"$\alpha_{layer}$: layer {layer} becomes learnable",
        )  # fmt: skip
        x, y = FIG1_THRESHOLDS[:, 0], FIG1_THRESHOLDS[:, layer]
        published_points(axes, x, y, color=LAYER_COLORS[layer], label=rf"published $\alpha_{layer}$")
    axes.axhline(1 / 6, color=KEY, linewidth=0.8, linestyle=":", label=r"$\alpha_2 \to 1/6$ for $c \to \infty$")
    axes.set(xlabel="skip strength $c$", ylabel=r"samples per dimension $\alpha = n/D$", xlim=(0, 4), ylim=(0, HIGHEST))
    axes.legend(loc="upper right", ncols=2)
    return figure


def numbers(cubes):
    """The range of the threshold of layer 2 over the skips, and the median of that of layer 1."""
    first, last = (layer_threshold_and_error(cubes["fig1_thresholds"], layer)[0] for layer in (1, 2))
    return {"lowest_2": np.nanmin(last), "highest_2": np.nanmax(last), "alpha_1": np.nanmedian(first)}
