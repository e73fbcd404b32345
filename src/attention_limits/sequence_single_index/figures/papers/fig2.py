"""A target whose uninformed start attracts without positional encoding and repels with it."""

import numpy as np

from attention_limits.plotting import MIDDLE, house_style, legend_below, new_figure
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
    """Loss along m at e = 0 (left) and over (e, m) (right), from the cube fig2_landscape."""
    cube = cubes["fig2_landscape"].isel(replica=0, degree=0)
    e, m, loss = cube.e.values, cube.m.values, cube.loss.values
    figure, (left, right) = new_figure(1, 2, MIDDLE, 3.8, width_ratios=(2, 3))
    without_position(left, m, loss[0], f"without positional encoding\nSIE {exponent_text(cube)}")
    loss_contours(figure, right, e, m, loss, finer_below=3.0)
    right.plot(0, 0, **START, label="start")
    low_e, low_m = lowest_point(e, m, loss)
    right.plot(
        [low_m, -low_m], [low_e, low_e], "*", color=ACCENT, markeredgecolor="white", markersize=11, linestyle="none",
        label=f"lowest, $e={low_e:.2f}$, $m=\\pm{low_m:.2f}$, $R={np.nanmin(loss):.4f}$",
    )  # fmt: skip
    right.set_title(
        f"with positional encoding: $H_{{ee}} = {cube.hessian_ee.item():.4f}$\n{descent_text(cube)} in $(e, m)$"
    )
    legend_below(figure, right, ncols=2)
    return figure


def numbers(cubes):
    """Range of the loss over the disk, and its fall from the start to its lowest points, in per cent of its lowest value."""
    loss = cubes["fig2_landscape"].isel(replica=0, degree=0).loss
    lowest, start = float(loss.min()), loss.sel(e=0.0, m=0.0, method="nearest").item()
    return {"range": 100 * (float(loss.max()) / lowest - 1.0), "fall": 100 * (start / lowest - 1.0)}
