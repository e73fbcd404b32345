"""Attention layers of growing rank beside the limit of small width of the attention-indexed model."""

import numpy as np

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    COLORS,
    KEY,
    MIDDLE,
    curve,
    house_style,
    new_figure,
    ordered_colors,
    present,
    say_why,
)
from attention_limits.sequence_multi_index.figures.shared import NOT_SETTLED
from attention_limits.sequence_multi_index.figures.thresholds.rank import draw_thresholds, small_width_threshold

# Ranks of the exact thresholds; the last one stands for the limit.
RANKS = np.append(np.arange(1, 65), 10**6)
# Cubes of the learning curves.
CURVES = ("rank_one", "rank_two", "rank_four", "rank_eight")


@house_style
def draw(cubes):
    """Thresholds from the cube atlas_rank (left), overlaps from rank_one to rank_eight (right)."""
    figure, (left, right) = new_figure(1, 2, MIDDLE, 3.4)
    _thresholds(left, cubes["atlas_rank"])
    for name, color in zip(CURVES, ordered_colors(range(len(CURVES))), strict=True):
        _learning_curve(right, cubes[name], color)
    alpha = np.array([0.0, 0.25, 0.5, 0.6])
    right.plot(
        alpha, small_width_overlap(alpha, 2), "--", color=COLORS["bayes"], label="attention-indexed,\nsmall width"
    )
    right.set(
        xlabel=r"samples per weight $\alpha / p = n/(Dp)$", ylabel="overlap with the teacher, mean of the rows",
        xlim=(0, 0.6), ylim=(-0.03, 1.05), title="$M = 2$ tokens",
    )  # fmt: skip
    right.legend(loc="upper left")
    return figure


def small_width_overlap(alpha, tokens):
    """Overlap of the rows of W in the limit of small width of a softmax, alpha = n / (d r).

    In this limit V = 1 - q^2 is the variance of the scores and alpha = V / ((1 - q) (M - 1) (M + 2)), so
    q = (M - 1) (M + 2) alpha - 1 between its threshold and exact recovery at twice the threshold (Boncoraglio et al. 2025).
    """
    return np.clip(np.asarray(alpha) / small_width_threshold(tokens) - 1.0, 0.0, 1.0)


def _thresholds(axes, cube):
    """alpha_c / p against 1 / p: circles with errors, the exact value, and the limit at 1 / p = 0."""
    for tokens, _ in draw_thresholds(axes, cube, RANKS, lambda rank: 1.0 / rank):
        axes.plot(0.0, small_width_threshold(tokens), "D", color="black", markersize=5, clip_on=False, zorder=3)
    axes.plot([], [], "-", color=KEY, label="exact")
    axes.plot([], [], "D", color="black", markersize=5, label="attention-indexed, small width")
    axes.set(xlabel="$1 / p$", ylabel=r"threshold $\alpha_c / p = n/(Dp)$", xlim=(0, 1.05), ylim=(0, 0.34))
    axes.legend(loc="upper right")


def _learning_curve(axes, cube, color):
    rank, overlap, flags = _overlap(cube)
    curve(axes, overlap.alpha.values / rank, overlap.values, color, f"rank {rank:g}", flags=flags.values)
    say_why(axes, NOT_SETTLED)


def _overlap(cube):
    """Rank, mean overlap of the rows (alpha, replica), and its flags."""
    part = cube.sel(estimator="state_evolution") if "estimator" in cube.dims else cube
    rank = specifications(cube)["state_evolution"]["model"].get("rank") or 1
    rows = [part.overlap.sel(layer=row, layer_star=row, drop=True) for row in part.layer.values]
    overlap = present(sum(rows) / rank)
    overlap = overlap.transpose("alpha", "replica")
    return rank, overlap, passed(part, "overlap").sel(alpha=overlap.alpha).transpose("alpha", "replica")


def numbers(cubes):
    """Overlap of the largest rank at half a sample per weight, its error, and from where on that of all ranks is one."""
    overlaps = {name: _overlap(cubes[name]) for name in CURVES}
    rank, overlap, flags = overlaps[CURVES[-1]]
    half = overlap.sel(alpha=0.5 * rank, method="nearest").where(flags.sel(alpha=0.5 * rank, method="nearest") == 1)
    mean, error = mean_and_error(half.values[None], axis=1)
    known = []
    for rank, overlap, flags in overlaps.values():
        below = overlap.alpha.where((overlap.where(flags == 1) < 0.99).any("replica"), drop=True)
        known.append(float(overlap.alpha.where(overlap.alpha > below.max()).min()) / rank if below.size else np.nan)
    return {"half": float(mean[0]), "half_error": float(error[0]), "known": max(known)}
