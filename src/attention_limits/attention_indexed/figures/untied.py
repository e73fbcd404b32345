"""Untied against tied attention of two tokens, with linear and softmax output."""

from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    amp,
    mark_thresholds,
    model,
    setting,
    theory,
    threshold,
)
from attention_limits.plotting import house_style, new_figure

TIED, UNTIED = "#0072B2", "#D55E00"


@house_style
def draw(cubes):
    """Left linear from untied_linear and fig3_linear, right softmax from untied_softmax and fig2_right_tokens2."""
    figure, (left, right) = new_figure(1, 2, 8.8, 3.8)
    _compare(left, cubes["untied_linear"], cubes["fig3_linear"])
    _compare(right, cubes["untied_softmax"], cubes["fig2_right_tokens2"])
    cube = cubes["untied_linear"]
    right.errorbar([], [], [], fmt="o", color="0.3", label=f"AMP, $d = {setting(cube, 'matrix_amp', 'dimension')}$")
    right.plot([], [], "^", color="0.3", label="exact recovery")
    right.legend(loc="upper right")
    return figure


def _compare(axes, untied, tied):
    """Both errors against alpha; the tied cube may hold other widths than that of the untied one."""
    width, name = model(untied, "ratio"), model(untied, "channel")
    for cube, color, label in ((tied, TIED, "tied, $WW^\\top$"), (untied, UNTIED, "untied, $QK^\\top$")):
        ratio = width if "ratio" in cube.dims else None
        line = theory(cube, ratio)
        axes.plot(line.alpha, line, color=color, label=label)
        amp(axes, cube, color, ratio=ratio)
        mark_thresholds(axes, [threshold(cube, ratio)], [color])
    axes.locator_params(axis="x", nbins=6)
    axes.set(
        xlabel=r"samples $\alpha = n/d^2$", ylabel=ESTIMATION, ylim=(0, 1.08), xlim=(0, float(untied.alpha.max())),
        title=rf"{name}, $T = {model(untied, 'tokens')}$, $\rho = {width:g}$",
    )  # fmt: skip
