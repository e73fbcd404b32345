"""Bayes-optimal error of softmax attention against matrix AMP and averaged gradient descent, two and three tokens."""

import numpy as np

from attention_limits.attention_indexed.figures.published import AVERAGED_DESCENT, DESCENT, SOFTMAX_AMP
from attention_limits.attention_indexed.figures.shared import amp, mark_thresholds, model, setting, theory, threshold
from attention_limits.attention_indexed.readings import errors_of_mean
from attention_limits.plotting import PUBLISHED, house_style, new_figure, points

# The number of starts in the mean that the publication shows.
STARTS = 32
_PANELS = (
    ("fig2_right_tokens2", "fig2_right_gradient_descent", (DESCENT, AVERAGED_DESCENT)),
    ("fig2_right_tokens3", "fig2_right_descent_tokens3", ()),
)


@house_style
def draw(cubes):
    """One panel per number of tokens; against equations per squared dimension the theory is the same line."""
    figure, panels = new_figure(1, 2, 8.4, 4.0, sharey=True)
    for axes, (name, descent, published) in zip(panels, _PANELS, strict=True):
        cube, line = cubes[name], theory(cubes[name])
        tokens = model(cube, "tokens")
        scale = tokens**2 + tokens - 2
        axes.plot(scale * line.alpha, line, color="black", label="Bayes-optimal state evolution")
        mark_thresholds(axes, [scale * threshold(cube)], ["black"])
        _draw_descent(axes, cubes[descent], scale)
        amp(axes, cube, "#0072B2", f"AMP, $d = {setting(cube, 'matrix_amp', 'dimension')}$", scale=scale)
        for index, values in enumerate(published):
            label = None if index else f"published descent, $d = 200$: one, mean of {STARTS}"
            axes.plot(scale * values[:, 0], values[:, 1], **PUBLISHED, label=label)
        axes.plot(*(SOFTMAX_AMP[tokens] * [scale, 1.0]).T, **{**PUBLISHED, "marker": "+"}, label="published AMP")
        axes.set(
            xlabel=r"equations per squared dimension $\alpha (T^2 + T - 2)$", title=f"$T = {tokens}$", xlim=(0, 1.2)
        )
        axes.legend(loc="upper right")
    panels[0].set(ylabel=r"error $\|S - \hat S\|_F^2/d$", ylim=(0, None))
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
