"""Error of hardmax attention against the number of samples, for several widths."""

from attention_limits.attention_indexed.figures.published import HARDMAX_CURVES
from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    GENERALISATION,
    amp,
    model,
    output_key,
    output_theory,
    ratio_color,
    setting,
    theory,
    with_unknown_scale,
)
from attention_limits.plotting import PUBLISHED, house_style, new_figure


@house_style
def draw(cubes):
    """From the cube fig1_left_hardmax: state evolution (lines) and matrix AMP (circles), published state evolution (crosses).

    Diamonds: matrix AMP at a larger dimension, from fig1_left_dimension400.
    """
    cube, large = cubes["fig1_left_hardmax"], cubes["fig1_left_dimension400"]
    figure, (left, right) = new_figure(1, 2, 9.4, 4.0)
    for ratio in cube.ratio.values:
        line, color = theory(cube, ratio), ratio_color(ratio)
        left.plot(line.alpha, line, color=color, label=rf"$\rho = {ratio:g}$")
        amp(left, cube, color, ratio=ratio)
        with_unknown_scale(left, cube, color, float(ratio))
        output_theory(right, cube, color, ratio)
        amp(right, cube, color, ratio=ratio, variable="error_bayes")
    narrow = float(model(large, "ratio"))
    label = rf"AMP, $d = {setting(large, 'matrix_amp', 'dimension')}$, $\rho = {narrow:g}$"
    amp(left, large, ratio_color(narrow), label, marker="D")
    amp(right, large, ratio_color(narrow), marker="D", variable="error_bayes")
    known = [HARDMAX_CURVES[ratio] for ratio in cube.ratio.values if ratio in HARDMAX_CURVES]
    for index, values in enumerate(known):
        left.plot(*values.T, **PUBLISHED, label=None if index else "published")
    left.errorbar(
        [], [], [], fmt="o", color="0.3", markersize=4, label=f"AMP, $d = {setting(cube, 'matrix_amp', 'dimension')}$"
    )
    left.plot([], [], ":", color="0.3", linewidth=0.8, label="with the unknown scale")
    output_key(right)
    left.set(ylabel=ESTIMATION, ylim=(4e-4, 1.3))
    right.set(ylabel=GENERALISATION, ylim=(1e-2, 2.5))
    for axes in (left, right):
        axes.set(xscale="log", yscale="log", xlabel=r"samples $\alpha = n/d^2$")
        axes.legend(loc="lower left")
    return figure
