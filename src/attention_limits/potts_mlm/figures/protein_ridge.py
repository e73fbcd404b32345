"""Ridge regression of masked sites of an alignment: replica theory for the measured spectrum beside simulations."""

import numpy as np

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.plotting import MIDDLE, WIDE, banded_line, house_style, legend_below, new_figure, points
from attention_limits.potts_mlm.figures.shared import level, ridge_colors, root_mean_square, z_scores


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
        column[0].axvline(
            float(flat.directions), color="0.75", linewidth=0.8, zorder=0, label="directions of the inputs"
        )
        column[0].set_title(f"masked site {masked:g}, $p = {float(flat.inputs):g}$ inputs")
        column[1].set(xlabel="training sequences $M$", xscale="log")
    for look, label in (
        ({"linestyle": "-"}, "replica theory"),
        ({"marker": "s", "linestyle": "none", "markersize": 4}, "Gaussian sequences"),
        ({"linestyle": "--", "linewidth": 1.0}, "finite Gaussian population"),
        ({"marker": "o", "linestyle": "none", "markersize": 4}, "alignment"),
    ):
        rows[0][0].plot([], [], color="0.4", label=label, **look)
    rows[0][0].set(ylabel="test error")
    rows[1][0].set(ylabel="training error")
    legend_below(figure, rows[0][0], ncols=5)
    return figure


def numbers(cubes):
    """At the first masked site and the smallest ridge, where theory has its peak and at the largest M: by how much the error of
    the alignment differs from the theory (per cent), and their values; z-scores of the Gaussian sequences.
    """
    cube = cubes["protein_ridge"]
    part = cube.isel(masked=0).sel(ridge=cube.ridge.min()).mean("replica")
    high = int(part.spectrum_generalization_error.argmax("samples"))
    top, last = part.isel(samples=high), part.isel(samples=-1)
    scores = z_scores(cube.gaussian_generalization_error, cube.spectrum_generalization_error)
    return {
        "peak": float(top.samples), "alignment": float(top.alignment_generalization_error),
        "theory": float(top.spectrum_generalization_error), "above": _excess(top, "alignment", "spectrum"),
        "shape": _excess(top, "alignment", "finite_gaussian"), "last": float(last.samples),
        "below": -_excess(last, "alignment", "spectrum"),
        "training": float(last.alignment_training_error / last.spectrum_training_error),
        "squares": float(scores.size), "rms": root_mean_square(scores),
        "largest": np.max(np.abs(scores), initial=0.0),
    }  # fmt: skip


def _excess(part, name, other):
    """By how much the generalisation error of one kind of sequences exceeds that of another one, in per cent."""
    return 100.0 * float(part[f"{name}_generalization_error"] / part[f"{other}_generalization_error"] - 1.0)
