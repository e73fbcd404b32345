"""Ridge regression of masked sites of an alignment: replica theory for the measured spectrum beside simulations."""

import numpy as np

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.plotting import MIDDLE, WIDE, banded_line, house_style, legend_below, new_figure, points
from attention_limits.potts_mlm.figures.shared import level, ridge_colors


@house_style
def draw(cubes):
    """From the cube protein_ridge: generalisation (top) and training error (bottom), one column per masked site."""
    cube = cubes["protein_ridge"]
    figure, rows = new_figure(
        2, len(cube.masked), MIDDLE if len(cube.masked) < 3 else WIDE, 6.0, sharex=True, sharey="row", squeeze=False
    )
    for masked, column in zip(cube.masked.values, rows.T, strict=True):
        part = cube.sel(masked=masked)
        for axes, kind in zip(column, ("generalization", "training"), strict=True):
            for ridge, color in zip(part.ridge.values, ridge_colors(part.ridge.values), strict=True):
                one = part.sel(ridge=ridge)
                theory = one[f"spectrum_{kind}_error"].mean("replica")
                axes.plot(theory.samples, theory, color=color, label=rf"$\lambda = {ridge:g}$")
                alignment, gaussian, finite = (
                    one[f"{name}_{kind}_error"].transpose("samples", "replica").values
                    for name in ("alignment", "gaussian", "finite_gaussian")
                )
                banded_line(
                    axes, one.samples.values, *mean_and_error(finite, axis=1), color, linestyle="--", linewidth=1.0
                )
                points(axes, one.samples.values, gaussian, np.ones(gaussian.shape), color, None, "s")
                points(axes, one.samples.values, alignment, np.ones(alignment.shape), color, None)
        flat = part.isel(ridge=0, samples=0, replica=0)
        level(column[0], float(flat.masked_variance), "variance of the site", linestyle=":")
        level(column[0], float(flat.masked_noise), "best linear prediction", linestyle="-.")
        column[0].axvline(float(flat.directions), color="0.85", linewidth=0.8, zorder=0)
        column[0].set_title(f"masked site {masked:g}, $p = {float(flat.inputs):g}$ inputs")
        column[1].set(xlabel="training sequences $M$", xscale="log")
    for look, label in (
        ({"linestyle": "-"}, "replica theory"),
        ({"marker": "s", "linestyle": "none", "markersize": 4}, "Gaussian sequences"),
        ({"linestyle": "--", "linewidth": 1.0}, "finite Gaussian population"),
        ({"marker": "o", "linestyle": "none", "markersize": 4}, "alignment"),
    ):
        rows[0][0].plot([], [], color="0.4", label=label, **look)
    rows[0][0].set(ylabel="generalisation error")
    rows[1][0].set(ylabel="training error")
    legend_below(figure, rows[0][0], ncols=5)
    return figure
