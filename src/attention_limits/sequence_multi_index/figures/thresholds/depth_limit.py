"""How far the limits of many attention layers are from the layers, against 1 / c."""

import numpy as np

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.plotting import MIDDLE, house_style, new_figure, ordered_colors

# The slope is fitted to models of at least this many layers.
DEEP = 32
MARKERS = ("o", "s", "^", "D", "v")


def root_and_error(squares):
    """Root of the mean of squares over replicas (..., replicas), and its standard error."""
    mean, error = mean_and_error(squares, axis=-1)
    return np.sqrt(mean), 0.5 * error / np.sqrt(mean)


def exponent(inverse, squares):
    """Slope of log root-mean-square over log 1/c, of each replica; mean and standard error. squares (depths, replicas)."""
    slopes = np.polyfit(np.log(inverse), 0.5 * np.log(squares), 1)[0]
    return mean_and_error(slopes)


@house_style
def draw(cubes):
    """First order in 1/c (left) and the limit of infinitely many layers (right), one colour per L / c, from depth_limit."""
    cube = cubes["depth_limit"]
    depths = cube.depth.values
    deep = depths >= DEEP if np.sum(depths >= DEEP) > 1 else np.ones(len(depths), bool)
    figure, axes = new_figure(1, 2, MIDDLE, 4.0, sharex=True, sharey=True)
    colors = ordered_colors(cube.ratio.values, logarithmic=True)
    titles = ("first order in $1/c$: committee", r"infinitely many layers: $dB/dt = B\bar S(B)^\top$")
    for panel, name, title in zip(axes, ("committee_error", "large_depth_error"), titles, strict=True):
        for k, ratio in enumerate(cube.ratio.values):
            squares = cube[name].sel(ratio=ratio).transpose("depth", "replica").values
            root, error = root_and_error(squares)
            inverse = ratio / depths
            slope, uncertainty = exponent(inverse[deep], squares[deep])
            panel.errorbar(
                inverse, root, error, color=colors[k], marker=MARKERS[k % len(MARKERS)], markersize=4,
                capsize=2, elinewidth=1, linewidth=1, label=rf"$L/c = {ratio:g}$: $c^{{{-slope:+.3f} \pm {uncertainty:.3f}}}$",
            )  # fmt: skip
        panel.set(xscale="log", yscale="log", title=title, xlabel=r"$1/c$")
        panel.legend(loc="lower right", title=f"power of $c$ for $L \\geq {depths[deep][0]}$", title_fontsize=7.5)
    root, error = root_and_error(cube["committee_error"].transpose("depth", "ratio", "replica").values)
    highest = np.argmax(root.max(axis=0))
    for j in (0, len(depths) // 2, len(depths) - 1):
        axes[0].plot(cube.ratio.values / depths[j], root[j], ":", color="0.5", linewidth=1, zorder=1)
        axes[0].annotate(
            f"$L={depths[j]}$", (cube.ratio.values[highest] / depths[j], (root + error).max()), xytext=(0, 8),
            textcoords="offset points", fontsize=7, color="0.4", ha="center", va="bottom",
        )  # fmt: skip
    # Room for the names of the depths above the points, and for the legends below them.
    low, high = axes[0].get_ylim()
    axes[0].set(ylim=(0.08 * low, 2.0 * high), xlim=(0.6 * axes[0].get_xlim()[0], 1.5 * axes[0].get_xlim()[1]))
    axes[0].set(ylabel="root-mean-square difference of an attention\nweight, $L$ layers against the approximation")
    return figure
