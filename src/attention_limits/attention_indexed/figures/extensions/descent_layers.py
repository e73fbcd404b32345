"""Averaged gradient descent on data of two and of three layers of extensive width, against the number of samples."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import SAMPLES, setting
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
)

# Logarithmic axes begin at this error.
LOWEST = 1e-2


@house_style
def draw(cubes):
    """Two layers beside the state evolution of the cube two_layers, three layers without one."""
    figure, panels = new_figure(1, 2, MIDDLE, 4.2, sharey=True)
    for axes, name in zip(panels, ("layers_descent_two", "layers_descent_three"), strict=True):
        cube = cubes[name]
        layers = cube.layer.size
        for layer in cube.layer.values:
            _descent(axes, cube, layer)
        mark_threshold(axes, float(cube.recovery_threshold.max()), COLORS["bayes"])
        axes.axhline(1.0, color=KEY, linewidth=0.8, linestyle=":", zorder=0)
        dimension = setting(cube, "layers_descent", "dimension")
        axes.set(
            title=f"{layers} layers, $d = {dimension}$", xlabel=SAMPLES,
            xlim=(0, 1.25 * float(cube.recovery_threshold.max())), yscale="log",
        )  # fmt: skip
    _theory(panels[0], cubes["two_layers"].sel(estimator="two_layers_state_evolution"))
    # The legend lists its entries in this order, in three columns: the layers first.
    for layer in cubes["layers_descent_three"].layer.values:
        panels[0].plot([], [], color=LAYER_COLORS[layer], label=f"layer {layer}")
    panels[0].plot([], [], color=KEY, label="state evolution")
    panels[0].plot([], [], "v", color=KEY, markersize=4, label="gradient descent, one start")
    panels[0].plot([], [], "*", color=KEY, markersize=7, label="limit of many starts")
    panels[0].plot([], [], ":", color=KEY, linewidth=0.8, label="error without data")
    mark_threshold(panels[0], np.nan, COLORS["bayes"], label="as many equations as parameters")
    panels[0].set(ylabel=r"error $\|S_l - \hat S_l\|_F^2/d$, without traces", ylim=(LOWEST, None))
    legend_below(figure, panels, ncols=3)
    return figure


def _descent(axes, cube, layer):
    """One start and the limit of many starts of a layer."""
    flags = passed(cube, "mmse_by_layer_extrapolated").broadcast_like(cube.movement)
    shown = (
        (cube.mmse_by_layer_average.sel(average=1), "v"),
        (cube.mmse_by_layer_extrapolated, "*"),
    )
    for array, marker in shown:
        values = np.maximum(array.sel(layer=layer).transpose("alpha", "replica").values, LOWEST)
        sound = flags.transpose("alpha", "replica").values
        points(axes, cube.alpha.values, values, sound, LAYER_COLORS[layer], None, marker)


def _theory(axes, cube):
    """State evolution of two layers."""
    theory = present(cube.mmse_by_layer)
    flags = passed(cube, "error_bayes", unique=True).sel(alpha=theory.alpha).transpose("alpha", "replica").values
    for layer in theory.layer.values:
        # Exact recovery ends on the lower edge, not below it, where the line would seem to fall before its threshold.
        values = np.maximum(theory.sel(layer=layer).transpose("alpha", "replica").values, LOWEST)
        curve(axes, theory.alpha.values, values, LAYER_COLORS[layer], None, flags=flags)


def numbers(cubes):
    """Dimensions, starts and steps; at the largest alpha, training errors and errors of the first two of three layers."""
    two, three = cubes["layers_descent_two"], cubes["layers_descent_three"]
    last = three.mmse_by_layer_extrapolated.isel(alpha=-1).mean("replica")
    return {
        "first": float(last.sel(layer=1)),
        "second": float(last.sel(layer=2)),
        "dimension_2": setting(two, "layers_descent", "dimension"),
        "dimension_3": setting(three, "layers_descent", "dimension"),
        "starts": setting(three, "layers_descent", "starts"),
        "steps": setting(three, "layers_descent", "steps"),
        "training": float(three.training_error.isel(alpha=-1, step=-1).mean()),
        "training_2": float(two.training_error.isel(alpha=-1, step=-1).mean()),
    }
