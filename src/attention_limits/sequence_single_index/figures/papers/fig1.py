"""Population loss of attention's trace on two targets, without and with positional encoding."""

import numpy as np

from attention_limits.plotting import MIDDLE, ORANGE, PURPLE, house_style, legend_below, new_figure
from attention_limits.sequence_single_index.figures.shared import (
    ACCENT,
    START,
    descent_text,
    exponent_text,
    loss_contours,
    lowest_point,
    without_position,
)


@house_style
def draw(cubes):
    """Loss along m at e = 0 (top) and over (e, m) with the Hessian at the start (bottom), from the cube fig1_landscapes."""
    cube = cubes["fig1_landscapes"].isel(replica=0)
    figure, axes = new_figure(2, len(cube.degree), MIDDLE, 5.8, squeeze=False, height_ratios=(2, 3))
    for column, degree in enumerate(cube.degree.values):
        part = cube.sel(degree=degree)
        e, m, loss = part.e.values, part.m.values, part.loss.values
        top, bottom = axes[:, column]
        without_position(
            top, m, loss[0],
            f"target $He_{degree}(z_1) + He_{degree}(z_2)$\nno positional encoding: SIE {exponent_text(part)}",
        )  # fmt: skip
        loss_contours(figure, bottom, e, m, loss)
        bottom.plot(0, 0, **START, zorder=6, label="start")
        hessian_axes(bottom, part.hessian_ee.item(), cleaned(part.hessian_mm.item()))
        low_e, low_m = lowest_point(e, m, loss)
        bottom.plot(
            low_m, low_e, "*", color=ACCENT, markeredgecolor="white", markersize=14, linestyle="none", clip_on=False, zorder=5,
            label=r"lowest point, $m \geq 0$",
        )  # fmt: skip
        bottom.set_title(
            f"positional encoding: {descent_text(part)}\n"
            f"$H_{{ee}} = {part.hessian_ee.item():.4f}$, $H_{{mm}} = {cleaned(part.hessian_mm.item()):.4f}$"
        )
    legend_below(figure, bottom, ncols=3)
    return figure


def hessian_axes(axes, position, semantic):
    """The axes of the Hessian at the start, along e and m, where its mixed entry vanishes; the style shows the sign.

    Parameters
    ----------
    axes : matplotlib axes
    position, semantic : float
        H_ee and H_mm.
    """
    styles = {-1.0: ("-", ORANGE, "falls"), 0.0: (":", "0.4", "is flat"), 1.0: ("--", PURPLE, "rises")}
    for m, e, value in (([0, 0], [0, 0.35], position), ([-0.35, 0.35], [0, 0], semantic)):
        style, color, _ = styles[np.sign(value)]
        axes.plot(m, e, color="white", linewidth=4.0, clip_on=False, zorder=3)
        axes.plot(m, e, style, color=color, linewidth=2.5, clip_on=False, zorder=3.5)
    for style, color, text in styles.values():
        axes.plot([], [], style, color=color, linewidth=2.5, label=f"axis of the Hessian: the loss {text}")


def cleaned(value):
    """The value, with rounding errors and minus zero as zero."""
    return 0.0 if abs(value) < 1e-9 else value
