"""Hardmax attention at many samples, Bayes-optimal and published, and the errors of two to five tokens."""

import numpy as np

from attention_limits.attention_indexed.figures.papers.published import HARDMAX_AMP, HARDMAX_CURVES
from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    GENERALISATION,
    SAMPLES,
    SAMPLES_PER_WIDTH,
    amp,
    amp_key,
    error_of_scale,
    excess,
    model,
    output_key,
    output_theory,
    setting,
    theory,
    with_unknown_scale,
)
from attention_limits.plotting import (
    COLORS,
    KEY,
    MIDDLE,
    ORANGE,
    banded_line,
    house_style,
    mark_threshold,
    new_figure,
    ordered_colors,
    published_points,
)

BAYES, AMP, CODE = COLORS["bayes"], COLORS["amp"], ORANGE
TOKENS = dict(zip((2, 3, 4, 5), zip(ordered_colors((2, 3, 4, 5)), "osDv", strict=True), strict=True))


@house_style
def draw(cubes):
    """Left two tokens at rho = 0.5, from hardmax_bayes and hardmax_published; right from hardmax_tokens and its small width.
    Above the error of the estimate, below that of the output."""
    figure, ((left, right), below) = new_figure(2, 2, MIDDLE, 7.2)
    _draw_two_tokens(left, cubes["hardmax_bayes"], theory(cubes["hardmax_published"], 0.5))
    _draw_tokens(right, cubes["hardmax_tokens"], cubes["hardmax_tokens_small_width"])
    _draw_outputs(below, cubes["hardmax_bayes"], cubes["hardmax_tokens"])
    return figure


def numbers(cubes):
    """Error of AMP on two tokens at its largest alpha, what the state evolution gives there, and the error of the scale of S."""
    cube = cubes["hardmax_bayes"]
    last = excess(cube).dropna("alpha")[-1:]
    if not last.size:
        return dict.fromkeys(("alpha", "error", "line", "scale"), np.nan)
    line, ratio, dimension = float(last.theory[0]), model(cube, "ratio"), setting(cube, "matrix_amp", "dimension")
    return {
        "alpha": float(last.alpha[0]),
        "error": float(last[0]) + line,
        "line": line,
        "scale": error_of_scale(ratio, dimension),
    }


def _draw_outputs(panels, two, cube):
    """Generalisation errors: two tokens, and several tokens against alpha / rho."""
    ratio = 0.5
    output_theory(panels[0], two, BAYES)
    amp(panels[0], two, AMP, variable="error_bayes")
    panels[0].set(xlabel=SAMPLES, ylabel=GENERALISATION, xlim=(0.02, 20))
    for tokens in cube.tokens.values:
        color, marker = TOKENS[int(tokens)]
        output_theory(panels[1], cube.sel(tokens=tokens), color, scale=1.0 / ratio)
        amp(panels[1], cube.sel(tokens=tokens), color, scale=1.0 / ratio, marker=marker, variable="error_bayes")
        panels[1].plot([], [], color=color, label=rf"$M = {tokens:g}$, $\rho = {ratio}$")
    panels[1].set(xlabel=SAMPLES_PER_WIDTH, xlim=(0.05, 20))
    output_key(panels[0])
    for axes in panels:
        axes.set(xscale="log", yscale="log")
        axes.legend(loc="lower left")


def _draw_two_tokens(axes, cube, code):
    line = theory(cube)
    axes.plot(line.alpha, line, color=BAYES, label="Bayes-optimal state evolution")
    with_unknown_scale(
        axes, line, AMP, 0.5, setting(cube, "matrix_amp", "dimension"), "line + error of the scale of $S$"
    )
    amp(axes, cube, AMP, f"AMP, $d = {setting(cube, 'matrix_amp', 'dimension')}$")
    tail = cube.mmse_tail.isel(replica=0).dropna("alpha").sel(alpha=slice(0.4, None))
    axes.plot(
        tail.alpha,
        tail,
        color="0.5",
        linestyle="-.",
        linewidth=0.8,
        label=r"law of large $\alpha$, $\propto \alpha^{-2}$",
    )
    axes.plot(code.alpha, code, color=CODE, linestyle="--", label="channel of the published code")
    published_points(axes, *HARDMAX_CURVES[0.5].T, label="published state evolution")
    published_points(axes, *HARDMAX_AMP[0.5].T, label="published AMP (standard deviation)")
    axes.set(
        xscale="log", yscale="log", xlabel=SAMPLES, ylabel=ESTIMATION,
        xlim=(0.02, 20), ylim=(2e-4, 1.5), title=r"$M = 2$, $\rho = 0.5$",
    )  # fmt: skip
    axes.legend(loc="lower left")


def _draw_tokens(axes, cube, limit):
    """Against alpha / rho: small width with its thresholds, and rho = 0.5 with AMP; bands are the bounds of the theory."""
    ratio = 0.5
    for tokens in limit.tokens.values:
        color, marker = TOKENS[int(tokens)]
        part = limit.sel(tokens=tokens).isel(replica=0)
        threshold = float(part.weak_threshold.max())
        label = rf"$M = {tokens:g}$, $\bar\alpha_w = {threshold:.4f}$"
        banded_line(axes, part.rescaled_alpha, part.mmse, part.mmse_error, color, label)
        mark_threshold(axes, threshold, color)
        if tokens not in cube.tokens:
            continue
        finite = cube.sel(tokens=tokens)
        line = theory(finite)
        bound = finite.mmse_error.isel(replica=0).sel(alpha=line.alpha)
        banded_line(axes, line.alpha / ratio, line, bound, color, linestyle="--")
        law = finite.mmse_tail.isel(replica=0).dropna("alpha").sel(alpha=slice(0.4, None))
        axes.plot(law.alpha / ratio, law, color=color, linewidth=0.8, linestyle="-.")
        amp(axes, finite, color, scale=1.0 / ratio, marker=marker)
    axes.plot([], [], "-.", color=KEY, linewidth=0.8, label=r"law of large $\alpha$, $\rho = 0.5$")
    axes.plot([], [], "-", color=KEY, label=r"$\rho \to 0$")
    axes.plot([], [], "--", color=KEY, label=r"$\rho = 0.5$")
    amp_key(axes, cube)
    axes.set(
        xscale="log", yscale="log", xlabel=SAMPLES_PER_WIDTH, xlim=(0.05, 20),
        ylim=(2e-4, 1.5), title="two to five tokens",
    )  # fmt: skip
    axes.legend(loc="lower left")
