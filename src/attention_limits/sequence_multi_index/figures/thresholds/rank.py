"""Attention layers of rank p: first threshold against the rank, and the learning curve of rank two."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    KEY,
    LAYER_COLORS,
    MIDDLE,
    SERIES_COLORS,
    curve,
    house_style,
    largest,
    mark_threshold,
    new_figure,
    points,
    present,
    realised_alpha,
    say_why,
)
from attention_limits.sequence_multi_index.figures.shared import NOT_SETTLED
from attention_limits.sequence_multi_index.readings import layer_threshold_and_error


@house_style
def draw(cubes):
    """Thresholds from the cube atlas_rank (left), overlaps from rank_two (right)."""
    figure, (left, right) = new_figure(1, 2, MIDDLE, 3.4)
    for tokens, color in draw_thresholds(left, cubes["atlas_rank"], np.arange(1, 9), lambda rank: rank):
        left.axhline(small_width_threshold(tokens), color=color, linestyle=":", linewidth=1)
    left.plot([], [], "-", color=KEY, label="exact")
    left.plot([], [], ":", color=KEY, label="attention-indexed model, small width")
    left.set(xlabel="rank $p$", ylabel=r"$\alpha_c / p = n/(Dp)$", xlim=(0.7, 8.3), ylim=(0, 0.3))
    left.legend()
    _learning_curve(right, cubes["rank_two"])
    return figure


def draw_thresholds(axes, cube, ranks, place):
    """Draw alpha_c / p at `place`(p): circles with errors from the `cube` atlas_rank, and the exact value at all `ranks`.

    Returns the number of tokens and the colour of each curve.
    """
    mean, error = layer_threshold_and_error(cube.transpose("rank", "tokens", ...), 1)
    found, shown = cube["rank"].values, list(zip(cube.tokens.values, SERIES_COLORS, strict=False))
    for k, (tokens, color) in enumerate(shown):
        axes.errorbar(
            place(found), mean[:, k] / found, error[:, k] / found, color=color, marker="o", markersize=4, capsize=2,
            linestyle="none", label=f"$M = {tokens:g}$ tokens",
        )  # fmt: skip
        axes.plot(place(ranks), first_threshold(ranks, tokens) / ranks, "-", color=color)
    return shown


def small_width_threshold(tokens):
    """n / (d r) at which the attention-indexed model is learned at small width, for a softmax (Boncoraglio et al. 2025)."""
    return 1.0 / ((tokens - 1) * (tokens + 2))


def first_threshold(rank, tokens):
    """alpha_c of one layer: 1 / alpha_c = M (M + 1) / p - 2 max(p - M + 1, 0) / p^2 (derived; see the caption)."""
    return 1.0 / (tokens * (tokens + 1) / rank - 2.0 * np.maximum(rank - tokens + 1, 0) / rank**2)


def _learning_curve(axes, cube):
    """State evolution as a line, GAMP as points: mean of the two rows."""
    theory, gamp = (cube.sel(estimator=name) for name in ("state_evolution", "gamp"))
    dimension = specifications(cube)["gamp"]["solver"]["dimension"]
    overlap = present(sum(theory.overlap.sel(layer=row, layer_star=row, drop=True) for row in (1, 2)) / 2.0)
    converged = passed(theory, "overlap").sel(alpha=overlap.alpha).values
    curve(axes, overlap.alpha, overlap.values, LAYER_COLORS[1], "state evolution", flags=converged)
    rows = [{"layer": row, "layer_star": row, "drop": True} for row in (1, 2)]
    relative = present(sum(gamp.overlap.sel(**row) / gamp.teacher_norm.sel(**row) for row in rows) / 2.0)
    converged = passed(gamp, "overlap").sel(alpha=relative.alpha).values
    alpha = realised_alpha(gamp, relative.alpha)
    points(axes, alpha, relative.values, converged, LAYER_COLORS[1], f"GAMP $D = {dimension}$")
    mark_threshold(axes, first_threshold(2, 2), LAYER_COLORS[1], label="threshold")
    axes.set(xlabel=r"samples per dimension $\alpha = n/D$", ylabel="overlap, mean of the rows", ylim=(-0.03, 1.05))
    axes.set_title("rank two, $M = 2$")
    say_why(axes, NOT_SETTLED)
    axes.legend(loc="lower right")


def numbers(cubes):
    """The largest rank that is computed, and the largest distance of a threshold from the formula, in standard errors."""
    cube = cubes["atlas_rank"].transpose("rank", "tokens", ...)
    mean, error = layer_threshold_and_error(cube, 1)
    ranks, tokens = cube["rank"].values, cube.tokens.values
    distance = np.abs(mean - first_threshold(ranks[:, None], tokens)) / error
    return {"rank": float(ranks.max()), "distance": largest(distance)}
