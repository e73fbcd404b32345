"""Bayes-optimal error of softmax attention against matrix AMP and averaged gradient descent, two, three and five tokens."""

import numpy as np

from attention_limits.attention_indexed.figures.papers.published import AVERAGED_DESCENT, DESCENT, SOFTMAX_AMP
from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    GENERALISATION,
    NOT_FITTED,
    amp,
    excess,
    fitted,
    model,
    output_theory,
    setting,
    theory,
    threshold,
)
from attention_limits.attention_indexed.readings import errors_of_mean
from attention_limits.plotting import (
    COLORS,
    PURPLE,
    SKY,
    WIDE,
    house_style,
    largest,
    legend_below,
    mark_threshold,
    new_figure,
    points,
    published_points,
    say_why,
)

# The number of starts in the mean that the publication shows.
STARTS = 32
# Equations per entry of S at which the caption gives numbers.
_ABOVE, _AVERAGED = 0.56, 0.2
# Cubes of theory and AMP, with the width ratio where they hold several, of gradient descent, and tokens of published descent.
_PANELS = (
    ("fig2_right_tokens2", None, "fig2_right_gradient_descent", (2,)),
    ("fig2_right_tokens3", None, "fig2_right_descent_tokens3", ()),
    ("fig4_tokens5", 0.5, "fig2_right_descent_tokens5", (4, 6)),
)


@house_style
def draw(cubes):
    """One column per number of tokens; as a function of equations per distinct entry of S the theory above is the same line."""
    figure, (panels, outputs) = new_figure(2, 3, WIDE, 7.6, sharey="row")
    for axes, below, (name, ratio, descent, published) in zip(panels, outputs, _PANELS, strict=True):
        cube, line = cubes[name], theory(cubes[name], ratio)
        tokens = model(cube, "tokens")
        scale = equations(tokens)
        axes.plot(scale * line.alpha, line, color="black", label="Bayes-optimal state evolution")
        axes.plot(
            scale * line.alpha, 2.0 * line, ":", color="black", linewidth=0.9, label="twice the Bayes-optimal error"
        )
        mark_threshold(axes, scale * threshold(cube, ratio), COLORS["bayes"])
        _draw_descent(axes, cubes[descent], scale)
        amp(axes, cube, COLORS["amp"], "AMP", ratio, scale)
        for number in published:
            _draw_published(axes, number)
        if tokens in SOFTMAX_AMP:
            alpha, mean, deviation = SOFTMAX_AMP[tokens].T
            label = "published AMP (standard deviation)"
            published_points(axes, scale * alpha, mean, deviation, COLORS["amp"], label)
        axes.set(title=f"$M = {tokens}$, AMP at $d = {setting(cube, 'matrix_amp', 'dimension')}$")
        _draw_outputs(below, cube, ratio, cubes[descent], scale)
        for panel in (axes, below):
            panel.set(xlabel=r"equations per distinct entry of $S$, $\alpha (M^2 + M - 2)$", xlim=(0, 1.2))
        if set(published) - {tokens}:
            others = "$ and $".join(str(number) for number in published)
            axes.set_title(f"{axes.get_title()};\ncrosses: $M = {others}$")
    panels[0].set(ylabel=ESTIMATION, ylim=(0, None))
    outputs[0].set(ylabel=GENERALISATION, ylim=(0, None))
    legend_below(figure, (panels, outputs))
    return figure


def numbers(cubes):
    """Two tokens: by how much the limit of many starts exceeds the line, and the error of the mean of `STARTS` starts.

    Each at the alpha of gradient descent next to that of the caption. All columns: `_at_fewest`, the largest one.
    """
    cube, line = cubes["fig2_right_gradient_descent"], theory(cubes["fig2_right_tokens2"])
    limit, averaged = (
        array.transpose("alpha", "replica")[int(np.argmin(np.abs(equations(2) * cube.alpha.values - place)))]
        for array, place in ((cube.mmse_extrapolated, _ABOVE), (errors_of_mean(cube, STARTS), _AVERAGED))
    )
    return {
        "above": float(limit.mean() - np.interp(limit.alpha, line.alpha, line)),
        "averaged": float(averaged.mean()),
        "few": largest([_at_fewest(cubes[name], ratio) for name, ratio, *_ in _PANELS]),
    }


def _at_fewest(cube, ratio):
    """Distance of the output error of AMP from the line at the first alpha of its data, in per cent."""
    first = excess(cube, ratio, "error_bayes")[:1]
    return 100.0 * largest(abs(first / first.theory))


def equations(tokens):
    """Equations of one output of the softmax, K = M^2 + M - 2."""
    return tokens**2 + tokens - 2


def _draw_published(axes, tokens):
    """Published gradient descent of this number of tokens, one start and the mean of 32, within the axis."""
    for index, curves in enumerate((DESCENT, AVERAGED_DESCENT)):
        alpha, mean, deviation = curves[tokens].T
        shown = equations(tokens) * alpha < 1.2
        label = None if index else "published descent, $d = 200$"
        published_points(
            axes, equations(tokens) * alpha[shown], mean[shown], deviation[shown], COLORS["descent"], label
        )  # fmt: skip


def _draw_descent(axes, cube, scale):
    """One start, the mean of `STARTS` by its law, and the limit of infinitely many; starts that do not fit fail a flag."""
    alpha = scale * cube.alpha.values
    shown = (
        (cube.mmse_average.sel(average=1), COLORS["descent"], "v", "gradient descent, one start"),
        (errors_of_mean(cube, STARTS), PURPLE, "D", f"mean of {STARTS} starts"),
        (cube.mmse_extrapolated, COLORS["average"], "*", "limit of many starts"),
    )
    for values, color, marker, label in shown:
        replicas = values.transpose("alpha", "replica").values
        points(axes, alpha, replicas, fitted(cube), color, label, marker)
        say_why(axes, NOT_FITTED)


def _draw_outputs(axes, cube, ratio, descent, scale):
    """Generalisation errors of state evolution, AMP and gradient descent."""
    output_theory(axes, cube, "black", ratio, scale)
    axes.plot([], [], color="black", linestyle="--", linewidth=0.9, label="output of the Bayes-optimal $S$")
    amp(axes, cube, COLORS["amp"], "AMP", ratio, scale, variable="error_bayes")
    amp(axes, cube, SKY, "output of AMP's $S$", ratio, scale, "s", "error_plug_in")
    shown = (
        (descent.error_plug_in_average.sel(average=1), COLORS["descent"], "v", "gradient descent, one start"),
        (descent.error_outputs_extrapolated, COLORS["average"], "*", "limit of many starts"),
    )
    alpha = scale * descent.alpha.values
    for values, color, marker, label in shown:
        replicas = values.transpose("alpha", "replica").values
        points(axes, alpha, replicas, fitted(descent), color, label, marker)
        say_why(axes, NOT_FITTED)
