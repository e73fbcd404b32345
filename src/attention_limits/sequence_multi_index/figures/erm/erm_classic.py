"""Perceptron losses: cosine with the target and misclassification of empirical risk minimisation."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    BLUE,
    GREEN,
    KEY,
    MIDDLE,
    VERMILLION,
    curve,
    house_style,
    legend_below,
    new_figure,
    points,
    present,
    realised_alpha,
    say_why,
)
from attention_limits.sequence_multi_index.figures.shared import DOUBTFUL

COLORS = {"logistic": BLUE, "hinge": VERMILLION, "square": GREEN}
STYLES = (":", "-", "--", "-.")


@house_style
def draw(cubes):
    """Cosine (left) and misclassification (right) of the three losses, from the cubes erm_classic_*."""
    figure, panels = new_figure(1, 2, MIDDLE, 4.4)
    for loss, color in COLORS.items():
        cube = cubes[f"erm_classic_{loss}"]
        for style, ridge in zip(STYLES, cube.ridge.values, strict=False):
            here = cube.sel(ridge=ridge, drop=True)
            theory = here.sel(estimator="erm_state_evolution") if "estimator" in here.dims else here
            for axes, values in zip(panels, _curves(theory, 1.0), strict=True):
                shown = present(values)
                reached = passed(theory, "overlap").sel(alpha=shown.alpha).values
                curve(axes, shown.alpha.values, shown.values, color, None, style, reached)
            if "estimator" in here.dims:
                _draw_points(
                    panels, here.sel(estimator="erm_minimisation"), color, f"L-BFGS, {loss}, $\\lambda={ridge:g}$"
                )
    left, right = panels
    for loss, color in COLORS.items():
        left.plot([], [], color=color, label=f"{loss} loss")
    for style, ridge in zip(STYLES, cube.ridge.values, strict=False):
        left.plot([], [], style, color=KEY, label=f"$\\lambda = {ridge:g}$")
    left.set(ylabel=r"cosine with the target, $m/\sqrt{q}$", ylim=(0.4, 1))
    right.set(ylabel="misclassification", ylim=(0, 0.5))
    for axes in panels:
        axes.set(xlabel=r"samples per dimension $\alpha = n/D$", xlim=(0, None))
    say_why(panels, DOUBTFUL)
    legend_below(figure, left)
    return figure


def _curves(part, norm):
    """Cosine of student and target, and misclassification, (alpha, replica) each."""
    m, q = part.overlap.isel(layer=0, layer_star=0), part.student_norm.isel(layer=0, layer_other=0)
    return m / np.sqrt(q * norm), part.misclassification


def _draw_points(panels, part, color, label):
    for axes, values in zip(
        panels, _curves(part, part.target_norm.isel(layer_star=0, layer_star_other=0)), strict=True
    ):
        shown = present(values)
        if shown.size:
            reached = passed(part, "overlap").sel(alpha=shown.alpha).values
            points(axes, realised_alpha(part, shown.alpha), shown.values, reached, color, label)
