"""One step of the public program's map from the published overlaps, and its iteration from small ones."""

import numpy as np

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import LAYER_COLORS, WIDE, house_style, legend_below, new_figure
from attention_limits.sequence_multi_index.figures.papers.published import FIG1_OVERLAPS

# Marker, opacity and name of each channel.
_CHANNELS = {
    "published": ("o", 1.0, "quadratures of the public program"),
    "exact": ("D", 0.45, r"exact integrals, $\epsilon = 10^{-3}$"),
}
# The published curves scatter by this much.
_SCATTER = 0.01


@house_style
def draw(cubes):
    """Two layers from fig1_published_step and fig1_exact_step, three from fig3_…, the iteration from fig1_published_iteration."""
    figure, (two, three, path) = new_figure(1, 3, WIDE, 3.6)
    for axes, name, layers, title in ((two, "fig1", (1,), "two layers"), (three, "fig3", (1, 2), "three layers")):
        _steps(axes, {channel: cubes[f"{name}_{channel}_step"] for channel in _CHANNELS}, layers)
        axes.set(xlabel=r"samples per dimension $\alpha = n/D$", title=title)
    two.set_ylabel("change of the overlap in one step\nfrom the published one")
    _iteration(path, cubes["fig1_published_iteration"])
    legend_below(figure, (three, path))
    return figure


def numbers(cubes):
    """Largest mean change of an overlap in one step, with both channels.

    Steps of the iteration; the largest overlap at its end at alpha = 0.9, the least and the largest at 1.2.
    """
    found = {}
    for channel in _CHANNELS:
        changes = [
            np.abs(_change(cubes[f"{name}_{channel}_step"], layer, cubes[f"{name}_published_step"].alpha.values)[1])
            for name, layers in (("fig1", (1,)), ("fig3", (1, 2)))
            for layer in layers
        ]
        found[channel] = float(np.nanmax(np.concatenate(changes)))
    path = cubes["fig1_published_iteration"].overlap_trajectory.sel(layer=1, layer_star=1)
    early, late = (path.sel(alpha=alpha, method="nearest").isel(iteration=-1) for alpha in (0.9, 1.2))
    return found | {
        "steps": float(path.iteration.max()),
        "early": float(early.max()),
        "late_least": float(late.min()),
        "late_most": float(late.max()),
    }


def _change(cube, layer, shown):
    """alpha, mean change of the overlap of a layer in one step from the published one, and its error, at the alphas `shown`."""
    start = np.array(specifications(cube)["published_map"]["solver"]["start"])
    after = cube.overlap_trajectory.sel(layer=layer, layer_star=layer, iteration=1)
    after = after.sel(alpha=shown, method="nearest").transpose("alpha", "replica")
    before = [row[layer] for alpha in after.alpha.values for row in start if abs(row[0] - alpha) <= 1e-9]
    mean, error = mean_and_error(after.values, axis=1)
    return after.alpha.values, mean - before, error


def _steps(axes, cubes, layers):
    """Change of the overlaps of `layers` in one step, beside each other where there are several layers and channels."""
    axes.axhspan(-_SCATTER, _SCATTER, color="0.92", linewidth=0, zorder=0)
    axes.axhline(0.0, color="0.5", linewidth=0.8)
    shown = cubes["published"].alpha.values
    places = np.linspace(-0.02, 0.02, len(layers) * len(cubes))
    for number, (channel, cube) in enumerate(cubes.items()):
        marker, opacity, label = _CHANNELS[channel]
        for layer in layers:
            alpha, change, error = _change(cube, layer, shown)
            place, color = places[number * len(layers) + layers.index(layer)], LAYER_COLORS[layer]
            axes.errorbar(
                alpha + place, change, error, color=color, marker=marker, markersize=4,
                alpha=opacity, linestyle="none", capsize=2, elinewidth=1,
                label=f"$Q_{{{layer}{layer}}}$, {label}",
            )  # fmt: skip


def _iteration(axes, cube):
    """Q_11 after each iteration, one line per replica, and the published value."""
    overlap = cube.overlap_trajectory.sel(layer=1, layer_star=1)
    for alpha, style in zip(overlap.alpha.values, ("-", "--", ":", "-."), strict=False):
        values = overlap.sel(alpha=alpha).transpose("iteration", "replica").values
        lines = axes.plot(overlap.iteration, values, style, color=LAYER_COLORS[1], linewidth=1)
        lines[0].set_label(rf"$\alpha = {alpha:g}$")
        known = FIG1_OVERLAPS[np.abs(FIG1_OVERLAPS[:, 0] - alpha) <= 1e-9, 1]
        axes.hlines(known, 1, overlap.iteration.max(), color="0.55", linestyle=style, linewidth=1)
    axes.plot([], [], color="0.55", linewidth=1, label="published")
    axes.set(xlabel="iteration from $Q = 0.05$", ylabel="$Q_{11}$ of two layers", ylim=(-0.03, 1.03))
