"""Errors against the number of samples for several widths, with the thresholds of exact recovery."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    GENERALISATION,
    amp,
    amp_key,
    mark_thresholds,
    model,
    output_key,
    output_theory,
    ratio_color,
    theory,
    threshold,
)
from attention_limits.plotting import PUBLISHED


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
        axes.plot(*published[ratio].T, **PUBLISHED, label=None if index else "published state evolution")
    amp_key(axes, cube)
    _mark(axes, cube)
    axes.plot([], [], "^", color="0.3", markersize=6, label="exact recovery")
    axes.set(xlabel=r"samples $\alpha = n/d^2$", ylabel=ESTIMATION, ylim=(0, 1.08), xlim=(0, float(cube.alpha.max())))


def draw_outputs(axes, cube):
    """Generalisation errors of state evolution and AMP, of each ratio."""
    for ratio in cube.ratio.values:
        color = ratio_color(ratio)
        output_theory(axes, cube, color, ratio)
        amp(axes, cube, color, ratio=ratio, variable="error_bayes")
    _mark(axes, cube)
    output_key(axes, same=model(cube, "channel") == "linear")
    axes.set(
        xlabel=r"samples $\alpha = n/d^2$", ylabel=GENERALISATION, ylim=(0, None), xlim=(0, float(cube.alpha.max()))
    )


def _mark(axes, cube):
    ratios = cube.ratio.values
    # Widths beyond d have one threshold.
    thresholds = [threshold(cube, ratio) for ratio in ratios]
    shared = np.isclose(thresholds, max(thresholds)) & (ratios > 1)
    colors = [ratio_color(1.0 if same else ratio) for ratio, same in zip(ratios, shared, strict=True)]
    mark_thresholds(axes, thresholds, colors)
