"""Error of hardmax attention against the number of samples, for several widths."""

import numpy as np

from attention_limits.attention_indexed.figures.papers.published import HARDMAX_AMP, HARDMAX_CURVES
from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    GENERALISATION,
    SAMPLES,
    amp,
    amp_key,
    excess,
    model,
    output_key,
    output_theory,
    ratio_color,
    setting,
    theory,
    with_unknown_scale,
)
from attention_limits.plotting import KEY, WIDE, house_style, largest, legend_below, new_figure, published_points

# The line plus the error of the scale of S, which the outputs do not determine at finite dimension.
SCALE = "line + error of the scale of $S$, $d = {}$"
SPARSE = (0, (1, 4))
# Width ratios and numbers of samples at which the finite dimension shows most.
_NARROW, _FEW = 0.2, 0.2


@house_style
def draw(cubes):
    """From the cube fig1_left_hardmax: state evolution (lines) and matrix AMP (circles).

    Crosses: published state evolution, with bars published AMP. Diamonds: AMP at a larger dimension, from fig1_left_dimension400.
    """
    cube, large = cubes["fig1_left_hardmax"], cubes["fig1_left_dimension400"]
    figure, (left, right) = new_figure(1, 2, WIDE, 5.2)
    dimension = setting(cube, "matrix_amp", "dimension")
    for ratio in cube.ratio.values:
        line, color = theory(cube, ratio), ratio_color(ratio)
        left.plot(line.alpha, line, color=color, label=rf"$\rho = {ratio:g}$")
        amp(left, cube, color, ratio=ratio)
        with_unknown_scale(left, line, color, float(ratio), dimension)
        output_theory(right, cube, color, ratio)
        amp(right, cube, color, ratio=ratio, variable="error_bayes")
    _draw_large(left, right, large, cube)
    for index, ratio in enumerate(ratio for ratio in cube.ratio.values if ratio in HARDMAX_CURVES):
        color = ratio_color(ratio)
        label = None if index else "published (bars: standard deviation of AMP)"
        published_points(left, *HARDMAX_CURVES[ratio].T, color=color, label=label)
        published_points(left, *HARDMAX_AMP[ratio].T, color=color)
    amp_key(left, cube)
    left.plot([], [], ":", color=KEY, linewidth=0.8, label=SCALE.format(dimension))
    output_key(right, "b")
    left.set(ylabel=ESTIMATION, ylim=(4e-4, 1.3))
    right.set(ylabel=GENERALISATION, ylim=(1e-2, 2.5))
    for axes in (left, right):
        axes.set(xscale="log", yscale="log", xlabel=SAMPLES)
    legend_below(figure, (left, right))
    return figure


def numbers(cubes):
    """Where AMP lies above the lines, in the narrow layers at few samples and elsewhere, and how often it does not converge.

    Percentages of the data sets at alpha of at least one half: the narrowest layer, and all others.
    """
    cube = cubes["fig1_left_hardmax"]
    few, other = [], []
    for ratio in cube.ratio.values:
        difference = excess(cube, ratio).dropna("alpha")
        early = (difference.alpha <= _FEW) & (ratio <= _NARROW)
        few += list(difference[early].values)
        other += list(difference[~early].values)
    late = cube.sel(estimator="matrix_amp", alpha=cube.alpha >= 0.5)
    failed = (late.converged == 0).where(late.mmse.notnull() | (late.converged == 0))
    share = 100.0 * failed.mean([name for name in failed.dims if name != "ratio"])
    return {
        "above": largest(few),
        "within": largest(np.abs(other)),
        "failed": float(share[0]),
        "failed_wide": float(share[1:].mean()),
    }


def _draw_large(left, right, large, cube):
    """AMP of the cube `large` at its dimension, with the theory of `cube` and the error of the unknown scale."""
    ratio, dimension = float(model(large, "ratio")), setting(large, "matrix_amp", "dimension")
    color = ratio_color(ratio)
    label = rf"AMP, $d = {dimension}$, $\rho = {ratio:g}$"
    amp(left, large, color, label, marker="D")
    amp(right, large, color, marker="D", variable="error_bayes")
    if ratio in cube.ratio:
        with_unknown_scale(left, theory(cube, ratio), color, ratio, dimension, linestyle=SPARSE)
        left.plot([], [], linestyle=SPARSE, color=KEY, linewidth=0.8, label=SCALE.format(dimension))
