"""Phases of two layers of small width: thresholds, and the curves of all fixed points beside AMP from both starts."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import NOT_CONVERGED, SAMPLES_PER_WIDTH, model, setting
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    BLUE,
    HARD_COLOR,
    VERMILLION,
    WIDE,
    banded_line,
    house_style,
    legend_below,
    new_figure,
    ordered_colors,
    points,
    present,
    realised_alpha,
    say_why,
    sound_mean,
)

THRESHOLDS = {
    "uninformed_end": (BLUE, "above: AMP reaches the informed fixed point"),
    "information_theoretic_threshold": (VERMILLION, "above: informed fixed point Bayes-optimal"),
    "informed_begin": ("0.45", "above: informed fixed point exists"),
}
# Widths of the curves.
SHOWN = (0.001, 0.01, 0.02, 0.05)
STARTS = {"uninformed": "o", "informed": "D"}
# An alpha of AMP in the hard phase.
_HARD = 0.0628


@house_style
def draw(cubes):
    """From the cubes layers_phases and layers_phases_amp."""
    figure, (left, right) = new_figure(1, 2, WIDE, 4.2)
    _draw_thresholds(left, cubes["layers_phases"])
    _draw_fixed_points(right, cubes["layers_phases"])
    _draw_messages(right, cubes["layers_phases_amp"])
    right.set(
        xlabel=SAMPLES_PER_WIDTH, ylabel=r"error of layer 1, $\|S_1 - \hat S_1\|_F^2/d$", xlim=(2.0, 5.0),
        ylim=(0.0, max(1.05, right.get_ylim()[1])),
    )  # fmt: skip
    legend_below(figure, (left, right))
    return figure


def numbers(cubes):
    """Sizes of AMP; in the hard phase, the errors of layer 1 of the runs that pass their flags, and their number, by start.

    `partial` is the smallest width at which only some scramblings have several fixed points, `several` of `scramblings`.
    """
    cube = cubes["layers_phases_amp"]
    dimension, ratio = setting(cube, "two_layers_amp", "dimension"), model(cube, "ratio")
    place = float(cube.alpha.sel(alpha=_HARD, method="nearest"))
    here = cube.sel(alpha=place, layer=1)
    found = {
        "dimension": dimension,
        "rank": round(ratio * dimension),
        "sets": here.sizes["replica"],
        "place": place / ratio,
    }
    sound = here.mmse_by_layer.where(passed(here, "mmse_by_layer") == 1)
    for name, error in zip(STARTS, sorted(cube.start_error.values, reverse=True), strict=True):
        part = sound.sel(start_error=error)
        found |= {f"{name}_passed": int(part.notnull().sum()), name: float(part.mean())}
    return found | _partial(cubes["layers_phases"].uninformed_end)


def _partial(ends):
    """The smallest width at which some replicas have several fixed points and others not, and how many have them."""
    number, scramblings = ends.notnull().sum("replica"), ends.sizes["replica"]
    some = [pair for pair in zip(ends.ratio.values, number.values, strict=True) if 0 < pair[1] < scramblings]
    partial, several = min(some, default=(np.nan, np.nan))
    return {"partial": float(partial), "several": float(several), "scramblings": scramblings}


def _draw_thresholds(axes, cube):
    """The thresholds in units of the width, and the hard phase between two of them."""
    lines = {}
    for name, (color, label) in THRESHOLDS.items():
        found = cube[name].transpose("ratio", "replica")
        # A width at which a replica has no such threshold has no mean.
        everywhere = found.notnull().all("replica") & (passed(cube, name) == 1)
        flags = everywhere.transpose("ratio", "replica").values.astype(float)
        ratio = cube.ratio.values
        mean, error, _ = sound_mean(found.values / ratio[:, None], flags)
        banded_line(axes, ratio, mean, error, color, label, marker=".", markersize=4)
        lines[name] = mean
    axes.fill_between(
        ratio,
        lines["information_theoretic_threshold"],
        lines["uninformed_end"],
        color=HARD_COLOR,
        zorder=0,
        label="hard",
    )
    last = ratio[np.isfinite(lines["uninformed_end"])].max(initial=ratio[0])
    if last < ratio[-1]:
        place = np.sqrt(last * ratio[-1]), np.mean(axes.get_ylim())
        axes.text(*place, "one fixed point", rotation=90, ha="center", va="center", fontsize=7.5)
    axes.set(xscale="log", xlabel=r"width ratio $\rho = r/d$", ylabel=SAMPLES_PER_WIDTH, xlim=(ratio[0], ratio[-1]))


def _draw_fixed_points(axes, cube):
    """A line for each replica: full where the fixed points are stable, dotted where they are not."""
    for color, ratio in zip(ordered_colors(SHOWN, logarithmic=True), SHOWN, strict=True):
        if not np.any(np.isclose(cube.ratio, ratio)):
            continue
        here = cube.sel(ratio=ratio, method="nearest")
        for number, replica in enumerate(here.replica.values):
            alpha = here.alpha_by_place.sel(replica=replica).values / ratio
            V = here.mmse_by_place.sel(replica=replica, layer=1).values
            rises = np.gradient(alpha) > 0
            label = rf"$\rho = {ratio:g}$" if number == 0 else None
            axes.plot(np.where(rises, alpha, np.nan), V, color=color, linewidth=0.9, label=label)
            axes.plot(np.where(rises, np.nan, alpha), V, ":", color=color, linewidth=0.9)


def _draw_messages(axes, cube):
    """AMP from the prior means and from an informed start, on the same data."""
    ratio = model(cube, "ratio")
    color = ordered_colors(SHOWN, logarithmic=True)[SHOWN.index(ratio)]
    for (name, marker), error in zip(STARTS.items(), sorted(cube.start_error.values, reverse=True), strict=True):
        part = cube.sel(start_error=error, layer=1)
        shown = present(part.mmse_by_layer).transpose("alpha", "replica")
        flags = passed(part, "mmse_by_layer").transpose("alpha", "replica").values
        x = realised_alpha(part, shown.alpha) / ratio
        points(axes, x, shown.values, flags, color, rf"AMP, {name} start, $\rho = {ratio:g}$", marker)
        say_why(axes, NOT_CONVERGED)
