"""Errors of both layers of two-layer attention of extensive width, and of its output, against the number of samples."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import FLOOR, GENERALISATION, SAMPLES, output_key
from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    COLORS,
    KEY,
    LAYER_COLORS,
    MIDDLE,
    curve,
    house_style,
    legend_below,
    mark_threshold,
    new_figure,
    points,
    present,
    realised_alpha,
)

# Shift of the predicted errors to the right, so that they do not hide the actual ones.
SHIFT = 0.01
OUTPUT = KEY


@house_style
def draw(cubes):
    """From the cube two_layers: state evolution with its band, AMP with the errors that it has and that it predicts; right the
    errors of the output."""
    cube = cubes["two_layers"]
    figure, (left, right) = new_figure(1, 2, MIDDLE, 4.4)
    _draw_layers(left, cube)
    _draw_output(right, cube)
    recovery, end = float(np.nanmax(cube.recovery_threshold)), float(cube.alpha.max())
    for axes in (left, right):
        label = rf"exact recovery, $\alpha = {recovery:g}$" if axes is left else None
        mark_threshold(axes, recovery, COLORS["bayes"], label=label)
        axes.set(xlabel=SAMPLES, xlim=(0, end), ylim=(0, None))
    legend_below(figure, (left, right), ncols=3)
    return figure


def numbers(cubes):
    """By how much the mean error of AMP lies above the state evolution at most, over both layers and all alpha, and where."""
    evolution, messages = (
        cubes["two_layers"].sel(estimator=f"two_layers_{name}") for name in ("state_evolution", "amp")
    )
    theory, actual = (
        part.mmse_by_layer.where(passed(part, "mmse_by_layer", unique=True) == 1).mean("replica")
        for part in (evolution, messages)
    )
    # The theory has other alpha than the data.
    difference = (actual - theory.interpolate_na("alpha")).stack(place=("alpha", "layer")).dropna("place")
    if not difference.size:
        return {"above": np.nan, "above_alpha": np.nan, "above_layer": np.nan}
    largest = difference.isel(place=int(difference.argmax("place")))
    return {
        "above": float(largest),
        "above_alpha": float(largest.alpha),
        "above_layer": float(largest.layer),
    }


def _draw_layers(axes, cube):
    """Errors of both layers."""
    evolution = cube.sel(estimator="two_layers_state_evolution")
    theory = present(evolution.mmse_by_layer)
    flags = _flags(evolution, theory)
    messages = cube.sel(estimator="two_layers_amp")
    actual = present(messages.mmse_by_layer).dropna("replica", how="all")
    predicted = messages.predicted_by_layer.sel(alpha=actual.alpha)
    sound = _flags(messages, actual)
    sampled = realised_alpha(messages, actual.alpha)
    for layer, color in LAYER_COLORS.items():
        if layer not in cube.layer:
            continue
        values = theory.sel(layer=layer).transpose("alpha", "replica").values
        curve(axes, theory.alpha.values, values, color, f"layer {layer}, state evolution", flags=flags)
        values = actual.sel(layer=layer).transpose("alpha", "replica").values
        points(axes, sampled, np.maximum(values, FLOOR), sound, color, f"layer {layer}, AMP")
        expected = predicted.sel(layer=layer).transpose("alpha", "replica").values
        expected = np.where(sound == 1, expected, np.nan)
        mean, error = mean_and_error(expected, axis=1)
        axes.errorbar(
            sampled + SHIFT, mean, error, fmt="_", color=color, markersize=8, elinewidth=0.8, zorder=2.8,
            label=f"layer {layer}, predicted by AMP",
        )  # fmt: skip
    axes.set(ylabel=r"error $\|S_l - \hat S_l\|_F^2/d$")


def _draw_output(axes, cube):
    """Errors of the output: state evolution, and AMP on fresh data."""
    theory, messages = (cube.sel(estimator=name) for name in ("two_layers_state_evolution", "two_layers_amp"))
    for variable, style in (("error_bayes", "-"), ("error_plug_in", "--")):
        errors = present(theory[variable])
        values = errors.transpose("alpha", "replica").values
        curve(axes, errors.alpha.values, values, OUTPUT, None, style, _flags(theory, errors))
    measured = present(messages.error_bayes).dropna("replica", how="all").transpose("alpha", "replica")
    sound = _flags(messages, measured)
    points(axes, realised_alpha(messages, measured.alpha), np.maximum(measured.values, FLOOR), sound, OUTPUT, None)
    output_key(axes, "b")
    axes.set(ylabel=GENERALISATION)


def _flags(part, shown):
    """Whether the points of an estimator pass all of its flags, (alpha, replica), at the points of an array of it."""
    return (
        passed(part, "error_bayes", unique=True)
        .sel(alpha=shown.alpha, replica=shown.replica)
        .transpose("alpha", "replica")
        .values
    )
