"""Error of hardmax attention against the number of samples, for several widths."""

from attention_limits.attention_indexed.figures.published import HARDMAX_CURVES
from attention_limits.attention_indexed.figures.shared import amp, ratio_color, setting, theory
from attention_limits.plotting import PUBLISHED, house_style, new_figure


@house_style
def draw(cubes):
    """From the cube fig1_left_hardmax: state evolution (lines) and matrix AMP (circles), published state evolution (crosses)."""
    cube = cubes["fig1_left_hardmax"]
    figure, axes = new_figure(1, 1, 5.2, 4.0)
    for ratio in cube.ratio.values:
        line, color = theory(cube, ratio), ratio_color(ratio)
        axes.plot(line.alpha, line, color=color, label=rf"$\rho = {ratio:g}$")
        amp(axes, cube, color, ratio=ratio)
    known = [HARDMAX_CURVES[ratio] for ratio in cube.ratio.values if ratio in HARDMAX_CURVES]
    for index, values in enumerate(known):
        axes.plot(*values.T, **PUBLISHED, label=None if index else "published")
    axes.errorbar(
        [], [], [], fmt="o", color="0.3", markersize=4, label=f"AMP, $d = {setting(cube, 'matrix_amp', 'dimension')}$"
    )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel=r"samples $\alpha = n/d^2$",
        ylabel=r"error $\|S - \hat S\|_F^2/d$",
        ylim=(4e-4, 1.3),
    )
    axes.legend(loc="lower left")
    return figure
