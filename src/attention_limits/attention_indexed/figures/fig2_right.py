"""Bayes-optimal error of softmax attention against matrix AMP and averaged gradient descent, two, three and five tokens."""

import numpy as np

from attention_limits.attention_indexed.figures.published import AVERAGED_DESCENT, DESCENT, SOFTMAX_AMP
from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    GENERALISATION,
    amp,
    mark_thresholds,
    model,
    output_theory,
    setting,
    theory,
    threshold,
)
from attention_limits.attention_indexed.readings import errors_of_mean
from attention_limits.plotting import PUBLISHED, house_style, new_figure, points

# The number of starts in the mean that the publication shows.
STARTS = 32
# Cubes of theory and AMP, with the width ratio where they hold several, and of gradient descent; published descent.
_PANELS = (
    ("fig2_right_tokens2", None, "fig2_right_gradient_descent", (DESCENT, AVERAGED_DESCENT)),
    ("fig2_right_tokens3", None, "fig2_right_descent_tokens3", ()),
    ("fig4_tokens5", 0.5, "fig2_right_descent_tokens5", ()),
)


@house_style
def draw(cubes):
    """One column per number of tokens; against equations per squared dimension the theory above is the same line."""
    figure, (panels, outputs) = new_figure(2, 3, 12.4, 7.6, sharey="row")
    for axes, below, (name, ratio, descent, published) in zip(panels, outputs, _PANELS, strict=True):
        cube, line = cubes[name], theory(cubes[name], ratio)
        tokens = model(cube, "tokens")
        scale = tokens**2 + tokens - 2
        axes.plot(scale * line.alpha, line, color="black", label="Bayes-optimal state evolution")
        axes.plot(
            scale * line.alpha, 2.0 * line, ":", color="black", linewidth=0.9, label="twice the Bayes-optimal error"
        )
        mark_thresholds(axes, [scale * threshold(cube, ratio)], ["black"])
        _draw_descent(axes, cubes[descent], scale)
        label = f"AMP, $d = {setting(cube, 'matrix_amp', 'dimension')}$"
        amp(axes, cube, "#0072B2", label, ratio, scale)
        for index, values in enumerate(published):
            label = None if index else f"published descent, $d = 200$: one, mean of {STARTS}"
            axes.plot(scale * values[:, 0], values[:, 1], **PUBLISHED, label=label)
        if tokens in SOFTMAX_AMP:
            axes.plot(*(SOFTMAX_AMP[tokens] * [scale, 1.0]).T, **{**PUBLISHED, "marker": "+"}, label="published AMP")
        axes.set(title=f"$T = {tokens}$")
        _draw_outputs(below, cube, ratio, cubes[descent], scale)
        for panel in (axes, below):
            panel.set(xlabel=r"equations per squared dimension $\alpha (T^2 + T - 2)$", xlim=(0, 1.2))
            panel.legend(loc="upper right")
    panels[0].set(ylabel=ESTIMATION, ylim=(0, None))
    outputs[0].set(ylabel=GENERALISATION, ylim=(0, None))
    return figure


def _draw_descent(axes, cube, scale):
    """One start, the mean of `STARTS` by its law, and the limit of infinitely many; filled where all starts stayed finite."""
    run = int(cube.average.max())
    law = "" if run >= STARTS else f" (law, from {run})"
    alpha = scale * cube.alpha.values
    finite = cube.finite.transpose("alpha", "replica").values
    shown = (
        (cube.mmse_average.sel(average=1), "#D55E00", "v", "gradient descent, one start"),
        (errors_of_mean(cube, STARTS), "#CC79A7", "D", f"mean of {STARTS} starts{law}"),
        (cube.mmse_extrapolated, "#E69F00", "*", "limit of many starts"),
    )
    for values, color, marker, label in shown:
        replicas = values.transpose("alpha", "replica").values
        axes.plot(alpha, np.nanmean(replicas, axis=1), color=color, linewidth=0.8, alpha=0.6, zorder=1)
        points(axes, alpha, replicas, finite, color, label, marker)


def _draw_outputs(axes, cube, ratio, descent, scale):
    """Generalisation errors of state evolution, AMP and gradient descent."""
    output_theory(axes, cube, "black", ratio, scale)
    axes.plot([], [], color="black", label="posterior mean of the output")
    axes.plot([], [], color="black", linestyle="--", linewidth=0.9, label="output of the estimate")
    amp(axes, cube, "#0072B2", "AMP, posterior mean", ratio, scale, variable="error_bayes")
    amp(axes, cube, "#56B4E9", "AMP, output of the estimate", ratio, scale, "s", "error_plug_in")
    most = int(descent.average.max())
    finite = descent.finite.transpose("alpha", "replica").values
    shown = (
        (descent.error_plug_in_average.sel(average=1), "#D55E00", "v", "gradient descent, one start"),
        (descent.error_plug_in_average.sel(average=most), "#CC79A7", "D", f"mean of {most} estimates"),
        (descent.error_outputs_extrapolated, "#E69F00", "*", "limit of the mean output of many starts"),
    )
    for values, color, marker, label in shown:
        points(
            axes,
            scale * descent.alpha.values,
            values.transpose("alpha", "replica").values,
            finite,
            color,
            label,
            marker,
        )
