"""Bayes-optimal error of softmax attention against matrix AMP and averaged gradient descent."""

import json

import numpy as np

from attention_limits.figures.aim_parts import amp, mark_thresholds, setting, theory, threshold
from attention_limits.figures.aim_published import AVERAGED_DESCENT, DESCENT
from attention_limits.figures.style import PUBLISHED, house_style, new_figure, points

_TOKENS = {"fig2_right_tokens2": ("#0072B2", "o"), "fig2_right_tokens3": ("#009E73", "s")}


def _tokens(cube):
    parts = json.loads(cube.attrs["spec"])["estimators"]
    return next(iter(parts.values()))["model"]["tokens"]


def _equations(tokens):
    return tokens**2 + tokens - 2


@house_style
def draw(cubes):
    """All against equations per squared dimension: the theory of any number of tokens is one line then."""
    figure, axes = new_figure(1, 1, 5.6, 4.2)
    line = theory(cubes["fig2_right_tokens2"])
    scale = _equations(_tokens(cubes["fig2_right_tokens2"]))
    axes.plot(scale * line.alpha, line, color="black", label="Bayes-optimal state evolution")
    mark_thresholds(axes, [scale * threshold(cubes["fig2_right_tokens2"])], ["black"])
    for name, (color, marker) in _TOKENS.items():
        cube, tokens = cubes[name], _tokens(cubes[name])
        label = f"AMP, $T = {tokens}$, $d = {setting(cube, 'matrix_amp', 'dimension')}$"
        amp(axes, cube, color, label, scale=_equations(tokens), marker=marker)
    descent = cubes["fig2_right_gradient_descent"]
    _draw_descent(axes, descent, _equations(_tokens(descent)))
    for index, values in enumerate((DESCENT, AVERAGED_DESCENT)):
        label = None if index else "published, $T = 2$, $d = 200$: one and 32 starts"
        axes.plot(_equations(2) * values[:, 0], values[:, 1], **PUBLISHED, label=label)
    axes.set(
        xlabel=r"equations per squared dimension $\alpha (T^2 + T - 2)$", ylabel=r"error $\|S - \hat S\|_F^2/d$",
        xlim=(0, scale * float(line.alpha[-1])), ylim=(0, None),
    )  # fmt: skip
    axes.legend(loc="upper right")
    return figure


def _draw_descent(axes, cube, scale):
    """One start, the mean of the most starts, and the limit of infinitely many; filled where all starts stayed finite."""
    alpha, tokens = scale * cube.alpha.values, _tokens(cube)
    finite = cube.finite.transpose("alpha", "replica").values
    most = int(cube.average.max())
    shown = (
        (cube.mmse_average.sel(average=1), "#D55E00", "v", f"gradient descent, $T = {tokens}$"),
        (cube.mmse_average.sel(average=most), "#CC79A7", "D", f"mean of {most} starts"),
        (cube.mmse_extrapolated, "#E69F00", "*", "limit of many starts"),
    )
    for values, color, marker, label in shown:
        replicas = values.transpose("alpha", "replica").values
        axes.plot(alpha, np.nanmean(replicas, axis=1), color=color, linewidth=0.8, alpha=0.6, zorder=1)
        points(axes, alpha, replicas, finite, color, label, marker)
