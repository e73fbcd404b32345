"""Errors of two layers of extensive width: strengths of the residual connection, three tokens, a hardmax as the last layer."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import SAMPLES, model
from attention_limits.attention_indexed.readings import mean_of_passed
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    COLORS,
    KEY,
    LAYER_COLORS,
    WIDE,
    curve,
    house_style,
    legend_below,
    mark_threshold,
    new_figure,
    present,
    say_why,
)

_PANELS = {
    "two_layers_skip": "softmax, $M = 2$",
    "two_layers_tokens": "softmax, $M = 3$",
    "two_layers_hardmax": "softmax below hardmax, $M = 2$",
}
# Curves of several skip strengths nearly coincide: thin lines over a thicker one.
_LOOKS = {
    0.0: {"linestyle": (0, (6, 2, 1, 2)), "linewidth": 1.2, "zorder": 2.2},
    0.5: {"linestyle": "--", "linewidth": 1.8, "zorder": 2.0},
    1.0: {"linestyle": "-", "linewidth": 1.2, "zorder": 2.1},
}

_FAILED = "one scrambling, fails a flag (see notes)"


@house_style
def draw(cubes):
    """From the cubes two_layers_skip, two_layers_tokens and two_layers_hardmax: state evolution with its band."""
    figure, axes = new_figure(1, 3, WIDE, 3.9, sharey=True)
    for ax, (name, title) in zip(axes, _PANELS.items(), strict=True):
        cube = cubes[name]
        _theory(ax, cube)
        ax.set(title=title, xlabel=SAMPLES)
        recovery = float(np.nanmax(cube.recovery_threshold))
        if np.isfinite(recovery):
            mark_threshold(ax, recovery, COLORS["bayes"])
            ax.set_xlim(0, float(cube.alpha.max()))
        else:
            ax.set_xscale("log")
    axes[0].set(ylabel=r"error $\|S_l - \hat S_l\|_F^2/d$", ylim=(0, 1.05))
    say_why(axes, _FAILED)
    _key(axes[0])
    legend_below(figure, axes)
    return figure


def _theory(ax, cube):
    """A line for each layer and skip strength."""
    for skip in cube.skip.values if "skip" in cube.dims else [model(cube, "skip")]:
        here = cube.sel(skip=skip) if "skip" in cube.dims else cube
        errors = present(here.mmse_by_layer)
        flags = passed(here, "mmse_by_layer", unique=True).sel(alpha=errors.alpha).transpose("alpha", "replica").values
        for layer, color in LAYER_COLORS.items():
            if layer in errors.layer:
                values = errors.sel(layer=layer).transpose("alpha", "replica").values
                curve(ax, errors.alpha.values, values, color, None, flags=flags, **_LOOKS[skip])
                # The lines between the points of the grid are straight.
                mean, error = mean_of_passed(here.sel(layer=layer), "mmse_by_layer")
                ax.errorbar(errors.alpha, mean, error, fmt=".", color=color, markersize=4, elinewidth=0.8, zorder=2.3)


def _key(axes):
    """Entries for layers, skip strengths and symbols."""
    for layer in (1, 2):
        axes.plot([], [], "-", color=LAYER_COLORS[layer], label=f"layer {layer}")
    for skip, look in _LOOKS.items():
        axes.plot([], [], color=KEY, label=f"skip strength $c = {skip:g}$", **look)
    axes.errorbar([], [], [], fmt=".", color=KEY, markersize=4, elinewidth=0.8, label="computed points")
    mark_threshold(axes, np.nan, COLORS["bayes"], label="exact recovery")
