"""Escape steps of tied and untied students against the learning rate, and their ratio to the flow."""

import string

import numpy as np

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import (
    WIDE,
    house_style,
    legend_below,
    letter_panel,
    lower_bounds,
    new_figure,
)
from attention_limits.sequence_single_index.figures.shared import NEUTRAL, STUDENTS

MARKERS = {"tied": "o", "untied": "s"}
TICKS = (0.02, 0.05, 0.1, 0.2)


@house_style
def draw(cubes):
    """Steps (top) and steps over those of the flow (bottom): a column per number of tokens, and one against the dimension.

    From the cubes rates_tied, rates_untied, rates_tied_dimension and rates_untied_dimension.
    """
    tokens = cubes["rates_tied"].tokens.values
    figure, axes = new_figure(2, len(tokens) + 1, WIDE, 5.8, sharey="row", squeeze=False)
    for (top, bottom), length in zip(axes.T, tokens, strict=False):
        for name in STUDENTS:
            cube = _tied_or_untied(cubes, name).sel(tokens=length)
            _steps(top, cube, name)
            _ratio(bottom, cube, "learning_rate", name)
        best = _best_rate(length)
        for panel in (top, bottom):
            panel.axvline(best, color=NEUTRAL, linewidth=0.8, linestyle=":", label="best rate of the flow")
            panel.set(xscale="log")
            panel.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
            panel.set_xticks([], minor=True)
        top.set(yscale="log", title=f"$M = {int(length)}$, best $\\gamma = {best:.4f}$")
        bottom.set(xlabel=r"learning rate $\gamma$", xlim=top.get_xlim())
    _by_dimension(axes[1, -1], cubes)
    for panel in axes[1]:
        panel.axhline(1.0, color="0.7", linewidth=0.6, zorder=0)
    axes[0, 0].set(ylabel="steps to the overlap 1/2, $d = 1000$")
    axes[1, 0].set(ylabel="steps over those of the flow")
    axes[0, -1].remove()
    for letter, panel in zip(string.ascii_lowercase[len(tokens) :], axes[1], strict=False):
        letter_panel(panel, letter)
    # Tied above untied; the entry of both comes last.
    legend_below(figure, axes[0, -2], ncols=5, key=lambda name: (name.partition(", ")[2] or "~", name))
    return figure


def _steps(panel, cube, name):
    """Means over runs, lower bounds of the means, flow, and the prediction with noise at the start."""
    color, marker = STUDENTS[name], MARKERS[name]
    rate, complete = cube.learning_rate.values, _complete(cube)
    mean, error = mean_and_error(cube.escape_step.transpose("learning_rate", "replica").values, axis=1)
    panel.errorbar(
        rate[complete], mean[complete], error[complete], fmt=marker, color=color, markersize=4, capsize=2, elinewidth=1,
        label=f"{name}, mean of {cube.sizes['replica']} runs",
    )  # fmt: skip
    # The bounds of both students coincide: the length of the runs.
    aside = 1.03 if name == "tied" else 1.0 / 1.03
    lower_bounds(panel, aside * rate[~complete], mean[~complete], color, f"{name}, lower bound of the mean")
    for variable, style, label in (("noisy_step", "-", "noise at the start, then flow"), ("flow_step", "--", "flow")):
        line = cube[variable].isel(replica=0).values
        line = np.where(np.isfinite(line), line, np.nan)
        panel.plot(rate, line, color=color, linewidth=1.0, linestyle=style, label=f"{name}, {label}")


def _ratio(panel, cube, key, name):
    """Mean steps over those of the flow where all runs escaped, and the prediction."""
    color, marker = STUDENTS[name], MARKERS[name]
    flow = cube.flow_step.isel(replica=0).values
    shown = _complete(cube) & np.isfinite(flow)
    mean, error = mean_and_error(cube.escape_step.transpose(key, "replica").values, axis=1)
    panel.errorbar(
        cube[key].values[shown], (mean / flow)[shown], (error / flow)[shown], fmt=marker, color=color, markersize=4,
        capsize=2, elinewidth=1,
    )  # fmt: skip
    predicted = cube.noisy_step.isel(replica=0).values[np.isfinite(flow)] / flow[np.isfinite(flow)]
    panel.plot(cube[key].values[np.isfinite(flow)], predicted, color=color, linewidth=1.0)


def _by_dimension(panel, cubes):
    """The ratio against the dimension: it tends to one like 1 / log d."""
    for name in STUDENTS:
        whole = _tied_or_untied(cubes, name, "_dimension")
        cube = whole.isel(tokens=0)
        _ratio(panel, cube, "dimension", name)
    rate = specifications(whole)["untied_sgd"]["model"]["learning_rate"]
    panel.set(xscale="log", xlabel="dimension $d$", title=f"$M = {int(cube.tokens)}$, $\\gamma = {rate:g}$")


def _complete(cube):
    """Whether all runs of a point escaped."""
    return cube.escaped.values.astype(bool).all(axis=cube.escaped.dims.index("replica"))


def numbers(cubes):
    """Gain of the tied student at the best rate of the flow for 2, 4 and 8 tokens; largest deviation in (g), in errors."""
    gains = dict.fromkeys(("two", "four", "eight"), np.nan)
    for name, length in zip(gains, (2, 4, 8), strict=True):
        # A smaller scale has fewer numbers of tokens.
        if length not in cubes["rates_tied"].tokens:
            continue
        steps = [_tied_or_untied(cubes, student).sel(tokens=length).escape_step.mean("replica") for student in STUDENTS]
        tied, untied = (part.sel(learning_rate=_best_rate(length), method="nearest") for part in steps)
        gains[name] = float(untied / tied)
    return gains | {"deviation": max(_largest_deviation(_tied_or_untied(cubes, s, "_dimension")) for s in STUDENTS)}


def _best_rate(tokens):
    """Learning rate of the fastest flow: gamma (a - gamma (M + 1)), a = 2 / sqrt(pi), is largest at half of the bound."""
    return 1.0 / (np.sqrt(np.pi) * (tokens + 1))


def _tied_or_untied(cubes, student, which=""):
    """Cube of a student; of the tied one the runs whose rate does not grow with the tokens."""
    cube = cubes[f"rates_{student}{which}"]
    return cube.isel(learning_rate_exponent=0) if student == "tied" else cube


def _largest_deviation(cube):
    """Largest distance of the mean steps from the prediction, in standard errors, where all runs escaped."""
    cube = cube.isel(tokens=0)
    mean, error = mean_and_error(cube.escape_step.transpose("dimension", "replica").values, axis=1)
    predicted = cube.noisy_step.isel(replica=0).values
    known = np.isfinite(predicted) & _complete(cube)
    return np.max(np.abs(mean - predicted)[known] / error[known], initial=0.0)
