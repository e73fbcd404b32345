"""Tokens whose dimensions are correlated: thresholds against the participation ratio, and a learning curve."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    BLACK,
    LAYER_COLORS,
    WIDE,
    curve,
    house_style,
    legend_below,
    mark_threshold,
    new_figure,
    points,
    present,
    realised_alpha,
    say_why,
)
from attention_limits.sequence_multi_index.figures.shared import NOT_SETTLED
from attention_limits.sequence_multi_index.readings import layer_threshold_and_error, recovery_and_error

# Spectrum: line and marker.
SPECTRA = {
    "covariance_power_law": ("-", "o", "power law"),
    "covariance_two_values": ("--", "s", "two eigenvalues"),
}
NAMES = {2: "layer 2 becomes learnable", 1: "layer 1 becomes learnable", 0: "both layers are recovered exactly"}


@house_style
def draw(cubes):
    """Thresholds of three spectra, and the learning curve of that of word vectors."""
    figure, axes = new_figure(1, 2, WIDE, 4.2)
    _thresholds(axes[0], cubes)
    _learning_curve(axes[1], cubes)
    legend_below(figure, axes, ncols=4)
    return figure


def _color(layer):
    return LAYER_COLORS.get(layer, BLACK)


def _thresholds(axes, cubes):
    """Lines and markers of the two families, stars of the word vectors, dotted the closed form of the first threshold."""
    for name, (line, marker, label) in SPECTRA.items():
        cube = cubes[name]
        for layer in NAMES:
            mean, error = layer_threshold_and_error(cube, layer) if layer else recovery_and_error(cube)
            there = np.isfinite(mean)
            axes.errorbar(
                cube.participation_ratio.values[there], mean[there], error[there], color=_color(layer), linestyle=line,
                marker=marker, markersize=4, capsize=2,
            )  # fmt: skip
        axes.plot([], [], line, color="0.3", marker=marker, markersize=4, label=f"eigenvalues: {label}")
    words = cubes["covariance_questions"]
    ratio = float(words.spectrum_participation_ratio.max())
    for layer in NAMES:
        mean, error = layer_threshold_and_error(words, layer) if layer else recovery_and_error(words)
        axes.errorbar(
            ratio, mean.item(), error.item(), color=_color(layer), marker="*", markersize=11, markeredgecolor="black",
            markeredgewidth=0.6, linestyle="none", capsize=2, zorder=4,
        )  # fmt: skip
    axes.plot([], [], "*", color="0.6", markersize=11, markeredgecolor="black", label="eigenvalues: word vectors")
    power = cubes["covariance_power_law"].sel(participation_ratio=[1.0])
    independent = layer_threshold_and_error(power, 2)[0].item()
    ratios = np.linspace(0.0, 1.0, 2)
    axes.plot(
        ratios, independent * ratios, ":", color=BLACK, linewidth=1, label=r"$\alpha_2(I) \times$ participation ratio"
    )
    for layer, name in NAMES.items():
        axes.plot([], [], color=_color(layer), linewidth=3, label=name)
    axes.set(
        xlabel=r"participation ratio $(\mathrm{tr}\,\Sigma)^2 / (D\,\mathrm{tr}\,\Sigma^2)$",
        ylabel=r"samples per dimension $\alpha = n/D$", xlim=(0.0, 1.03), ylim=(0.0, 1.25),
    )  # fmt: skip
    axes.set_title("thresholds")


def _learning_curve(axes, cubes):
    words = cubes["covariance_questions"]
    theory = words.sel(estimator="state_evolution")
    for layer in (2, 1):
        overlap, flags = _overlap(theory, layer)
        curve(axes, overlap.alpha.values, overlap.values, LAYER_COLORS[layer], None, flags=flags)
    axes.plot([], [], color="0.3", label="state evolution")
    gamp = words.sel(estimator="gamp")
    for layer in (2, 1):
        found = present(
            (gamp.overlap / gamp.teacher_norm).sel(layer=layer, layer_star=layer).transpose("alpha", "replica")
        )
        settled = passed(gamp, "overlap").sel(alpha=found.alpha).transpose("alpha", "replica").values
        points(axes, realised_alpha(gamp, found.alpha), found.values, settled, LAYER_COLORS[layer], None)
        mean, error = layer_threshold_and_error(words, layer)
        mark_threshold(axes, mean.item(), LAYER_COLORS[layer], error.item())
    say_why(axes, NOT_SETTLED)
    axes.plot([], [], "o", color="0.3", markersize=4, label="GAMP")
    dimension = specifications(words)["gamp"]["solver"]["dimension"]
    axes.set(
        xlabel=r"samples per dimension $\alpha = n/D$",
        ylabel="overlap of the fields",
        xlim=(0.0, 1.25),
        ylim=(-0.03, 1.05),
    )
    axes.set_title(f"word vectors (GAMP: $D = {dimension}$)")


def _overlap(theory, layer):
    overlap = present(theory.overlap.sel(layer=layer, layer_star=layer).transpose("alpha", "replica"))
    return overlap, passed(theory, "overlap").sel(alpha=overlap.alpha).transpose("alpha", "replica").values
