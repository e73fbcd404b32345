"""Errors against the number of samples for several widths, with their thresholds, and down to the limit of small width."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    GENERALISATION,
    SAMPLES,
    SAMPLES_PER_WIDTH,
    amp,
    amp_key,
    excess,
    model,
    output_key,
    output_theory,
    ratio_color,
    theory,
    threshold,
)
from attention_limits.plotting import (
    KEY,
    MIDDLE,
    banded_line,
    house_style,
    legend_below,
    mark_threshold,
    new_figure,
    published_points,
)


@house_style
def draw_two_panels(cube, published=None):
    """The figure of both errors side by side, as `draw_widths` and `draw_outputs` draw them."""
    figure, (left, right) = new_figure(1, 2, MIDDLE, 4.0)
    draw_widths(left, cube, published)
    draw_outputs(right, cube, "b")
    legend_below(figure, (left, right))
    return figure


def largest_excess(cube, widest=np.inf):
    """By how much the error of AMP lies above the state evolution at most, and at which ratio, up to the `widest`, and alpha."""
    found = {"above": np.nan, "above_ratio": np.nan, "above_alpha": np.nan}
    for ratio in cube.ratio.values[cube.ratio.values <= widest]:
        difference = excess(cube, ratio).dropna("alpha")
        if difference.size and not found["above"] >= float(difference.max()):
            found = {
                "above": float(difference.max()),
                "above_ratio": float(ratio),
                "above_alpha": float(difference.idxmax("alpha")),
            }
    return found


def draw_widths(axes, cube, published=None):
    """State evolution (lines) and AMP (circles) of each ratio, triangles where the error becomes zero; `published` curves by
    ratio."""
    ratios = cube.ratio.values
    for ratio in ratios:
        line, color = theory(cube, ratio), ratio_color(ratio)
        axes.plot(line.alpha, line, color=color, label=rf"$\rho = {ratio:g}$")
        amp(axes, cube, color, ratio=ratio)
    known = [ratio for ratio in ratios if ratio in published] if published else []
    for index, ratio in enumerate(known):
        published_points(axes, *published[ratio].T, label=None if index else "published state evolution")
    amp_key(axes, cube)
    _mark(axes, cube)
    mark_threshold(axes, np.nan, KEY, label="exact recovery")
    axes.set(xlabel=SAMPLES, ylabel=ESTIMATION, ylim=(0, 1.08), xlim=(0, float(cube.alpha.max())))
    axes.locator_params(axis="x", nbins=5)


def draw_outputs(axes, cube, panel):
    """Generalisation errors of state evolution and AMP, of each ratio; the legend names the `panel`, a letter or two."""
    for ratio in cube.ratio.values:
        color = ratio_color(ratio)
        output_theory(axes, cube, color, ratio)
        amp(axes, cube, color, ratio=ratio, variable="error_bayes")
    _mark(axes, cube)
    output_key(axes, panel, same=model(cube, "channel") == "linear")
    axes.set(xlabel=SAMPLES, ylabel=GENERALISATION, ylim=(0, None), xlim=(0, float(cube.alpha.max())))
    axes.locator_params(axis="x", nbins=5)


def _mark(axes, cube):
    ratios = cube.ratio.values
    # Widths beyond d have one threshold.
    thresholds = [threshold(cube, ratio) for ratio in ratios]
    shared = np.isclose(thresholds, max(thresholds)) & (ratios > 1)
    colors = [ratio_color(1.0 if same else ratio) for ratio, same in zip(ratios, shared, strict=True)]
    for position, color in zip(thresholds, colors, strict=True):
        mark_threshold(axes, position, color)


@house_style
def draw_small_width(cube, logarithmic, marks):
    """One line per ratio, that of the limit in black; `marks` are thresholds of alpha / rho, their labels, and whether hollow.

    A logarithmic x axis is for learning without exact recovery. Returns the figure and both axes; the caller adds the legend.
    """
    figure, (left, right) = new_figure(1, 2, MIDDLE, 4.0)
    part = cube.isel(replica=0)
    for ratio in cube.ratio.values[::-1]:
        at, label = part.sel(ratio=ratio), rf"$\rho = {ratio:g}$" if ratio else r"$\rho \to 0$"
        look = {"color": ratio_color(ratio), "linestyle": "-" if ratio else "--", "zorder": 2 if ratio else 3}
        left.plot(part.rescaled_alpha, at.mmse, label=label, **look)
        for variable, width in (("error_bayes", 1.5), ("error_plug_in", 0.7)):
            error = at[f"{variable}_uncertainty"]
            banded_line(right, part.rescaled_alpha, at[variable], error, linewidth=width, **look)
    for axes in (left, right):
        for position, text, hollow in marks:
            mark_threshold(axes, position, ratio_color(0), label=text, hollow=hollow)
        axes.set(
            xlabel=SAMPLES_PER_WIDTH,
            xscale="log" if logarithmic else "linear",
            xlim=(float(part.rescaled_alpha[0]), float(part.rescaled_alpha[-1])),
        )
    for label, width in (("(b) posterior mean of the output", 1.5), ("(b) output of the estimate", 0.7)):
        right.plot([], [], color=KEY, linewidth=width, label=label)
    left.set(ylabel=ESTIMATION, ylim=(0, 1.03))
    right.set(ylabel=GENERALISATION, ylim=(0, None))
    return figure, left, right
