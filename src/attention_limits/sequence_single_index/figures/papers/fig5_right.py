"""Probability that attention learns the semantic direction, against the weight of the positional part."""

import math
from contextlib import suppress

import numpy as np

from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import (
    MIDDLE,
    ORANGE,
    curve,
    flagged_points,
    house_style,
    legend_below,
    mark_threshold,
    new_figure,
)
from attention_limits.sequence_single_index.figures.shared import NEUTRAL, binomial_errors
from attention_limits.sequence_single_index.readings import equal_curvatures

LOSSES = {"frobenius": (NEUTRAL, r"$\|T - S\|_F$"), "half_square": (ORANGE, r"$\frac{1}{2}\|T - S\|_F^2$")}


@house_style
def draw(cubes):
    """Left: runs to escape of both losses with their theory; right: runs of the published length; from the cubes fig5_*."""
    figure, (left, right) = new_figure(1, 2, MIDDLE, 4.4, sharex=True, sharey=True)
    for loss, (color, name) in LOSSES.items():
        cube = cubes[f"fig5_{loss}"]
        runs = cube.semantic.dropna("omega", how="all")
        escaped = cube.escaped.sel(omega=runs.omega)
        draw_fractions(left, runs, escaped, color, f"SGD on {name}")
        for axes in (left, right) if loss == "frobenius" else (left,):
            _theory(axes, cube, color, name)
    short = cubes["fig5_short"]
    steps = specifications(short)["attention_sgd"]["solver"]["steps"]
    draw_fractions(right, short.semantic, short.escaped, NEUTRAL, f"SGD on {LOSSES['frobenius'][1]}")
    left.set(
        title="run to escape", ylabel=r"$P(|m| > |e|)$ at the end of the run", xlim=(0.46, 0.86), ylim=(-0.03, 1.03)
    )
    right.set(title=f"{name_of(steps)} steps only, as published")
    for axes in (left, right):
        axes.axhline(0.5, color="0.8", linewidth=0.6, zorder=0)
        axes.set(xlabel=r"weight of the positional part $\omega$")
    legend_below(figure, (left, right), ncols=3)
    return figure


def numbers(cubes):
    """The weight at which both curvatures are equal, of each loss; NaN where the cube has no crossing.

    The largest share, in per cent, of the short runs of one weight that have escaped, for weights between 0.4 and 0.8.
    """
    found = {}
    for loss in LOSSES:
        found[loss] = math.nan
        with suppress(KeyError):
            found[loss] = equal_curvatures(cubes[f"fig5_{loss}"])[0]
    escaped = cubes["fig5_short"].escaped.mean("replica").sel(omega=slice(0.4, 0.8))
    return found | {"escaped": 100.0 * np.max(escaped.values, initial=0.0)}


def _theory(axes, cube, color, name):
    """P(semantic) of the theory, and the omega at which the curvatures of the loss `name` are equal."""
    theory = cube.dropna("omega", subset=["curvature_position"], how="all")
    curve(axes, theory.omega, theory.flow_semantic.values, color, f"theory of the escape, {name}", linewidth=1.2)
    with suppress(KeyError):
        omega, _ = equal_curvatures(cube)
        mark_threshold(axes, omega, color, label=rf"equal curvatures, $\omega = {omega:.3f}$")


def name_of(steps):
    """A number of steps with thin spaces."""
    return f"{steps:,}".replace(",", "\u2009")


def draw_fractions(axes, semantic, escaped, color, label, marker="o"):
    """Fractions with binomial errors, flagged where fewer than half of the runs have escaped."""
    omega, runs = semantic.omega.values, semantic.sizes["replica"]
    wins = semantic.values.astype(float).sum(axis=1)
    enough = escaped.values.astype(float).mean(axis=1) >= 0.5
    axes.errorbar(
        omega[enough], wins[enough] / runs, binomial_errors(wins[enough], runs), color=color, marker=marker, markersize=4,
        capsize=2, elinewidth=1, linestyle="none", label=label if enough.any() else None,
    )  # fmt: skip
    if not enough.all():
        flagged_points(axes, omega[~enough], wins[~enough] / runs, color, "fewer than half of the runs escaped")
