"""P(semantic) and escape time of attention, of runs and of the theory, against dimension, learning rate and batch."""

import numpy as np

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.plotting import (
    GREEN,
    ORANGE,
    WIDE,
    curve,
    house_style,
    legend_below,
    lower_bounds,
    new_figure,
    present,
)
from attention_limits.sequence_single_index.figures.shared import NEUTRAL, binomial_errors

# Cube, scanned key and its label.
SCANS = {
    "prediction_dimension": ("dimension", "dimension $d$"),
    "prediction_rate": ("learning_rate", r"learning rate $\gamma$"),
    "prediction_batch": ("batch", "sequences per step $B$"),
}


@house_style
def draw(cubes):
    """Top: probability of the semantic direction; bottom: escape steps; from the cubes prediction_*."""
    figure, axes = new_figure(2, len(SCANS), WIDE, 5.4, sharex="col", sharey="row")
    for column, (name, (key, label)) in zip(axes.T, SCANS.items(), strict=True):
        cube = cubes[name]
        _probability(column[0], cube, key)
        _steps(column[1], cube, key)
        x = cube[key].values
        column[1].set(xlabel=label, xscale="log", yscale="log")
        column[1].set_xticks(x, [f"{value:g}" for value in x])
        column[1].set_xticks([], minor=True)
    axes[0, 0].set(ylabel=r"$P(|m| > |e|)$ at the escape")
    axes[1, 0].set(ylabel=r"mean steps until $e^2 + m^2 > 1/2$")
    legend_below(figure, axes)
    return figure


def numbers(cubes):
    """The largest deviation of the runs from the theory of Gaussian exit and flow, in standard errors of the runs."""
    found = []
    for name in SCANS:
        cube = cubes[name]
        (wins, count), (mean, error, known) = _wins(cube), _escapes(cube)
        p, steps = (cube[key].mean("replica").values for key in ("flow_semantic", "flow_mean_step"))
        found += [*(wins / count - p) / np.sqrt(p * (1.0 - p) / count), *((mean - steps) / error)[known]]
    return {"largest": float(np.nanmax(np.abs(found)))}


def _wins(cube):
    """Runs of each point that learn the semantic direction, and their number."""
    runs = cube.semantic.dropna("replica", how="all")
    return runs.values.astype(float).sum(axis=1), runs.sizes["replica"]


def _escapes(cube):
    """Mean escape step of each point with its standard error, and whether all runs escaped."""
    runs = cube.escape_step.dropna("replica", how="all")
    escaped = cube.escaped.sel(replica=runs.replica).values.astype(bool)
    mean, error = mean_and_error(runs.values, axis=1)
    return mean, error, escaped.all(axis=1)


def _theory(axes, cube, key, name, color, label, linestyle="-"):
    shown = present(cube[name], key)
    curve(axes, shown[key], shown.values, color, label, linewidth=1.2, linestyle=linestyle)


def _probability(axes, cube, key):
    wins, count = _wins(cube)
    axes.errorbar(
        cube[key], wins / count, binomial_errors(wins, count), fmt="o", color=NEUTRAL, markersize=4, capsize=2, elinewidth=1,
        label="SGD",
    )  # fmt: skip
    _theory(axes, cube, key, "flow_semantic", GREEN, "Gaussian exit and flow")
    _theory(axes, cube, key, "gaussian_semantic", ORANGE, "Gaussian process alone", "--")
    axes.axhline(0.5, color="0.8", linewidth=0.6, zorder=0)
    axes.set(ylim=(0.3, 1.0))


def _steps(axes, cube, key):
    mean, error, known = _escapes(cube)
    axes.errorbar(
        cube[key].values[known], mean[known], error[known], fmt="o", color=NEUTRAL, markersize=4, capsize=2, elinewidth=1,
        label="SGD",
    )  # fmt: skip
    if np.any(~known):
        lower_bounds(axes, cube[key].values[~known], mean[~known], NEUTRAL, "not all runs escaped")
    _theory(axes, cube, key, "flow_mean_step", GREEN, "Gaussian exit and flow")
    _theory(axes, cube, key, "gaussian_step", ORANGE, "Gaussian process alone", "--")
