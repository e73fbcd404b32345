"""Entropy of the outputs of two attention layers, and mutual information of weights and outputs of a noisy layer."""

import numpy as np

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    BLACK,
    COLORS,
    LAYER_COLORS,
    MIDDLE,
    curve,
    house_style,
    mark_threshold,
    new_figure,
    present,
    say_why,
    theory_points,
)
from attention_limits.sequence_multi_index.figures.shared import NOT_SETTLED
from attention_limits.sequence_multi_index.readings import layer_threshold_and_error


@house_style
def draw(cubes):
    """Entropy from the cube fig1_learning_curve (left), information from noisy_attention (right)."""
    figure, (left, right) = new_figure(1, 2, MIDDLE, 3.4)
    _entropy(left, cubes["fig1_learning_curve"])
    _information(right, cubes["noisy_attention"])
    for axes in (left, right):
        axes.set_xlabel(r"samples per dimension $\alpha = n/D$")
    return figure


def _entropy(axes, cube):
    """Uninformed start as a line, informed start as short dashes. Minus infinity is exact recovery: the curve ends there."""
    (line, flags), (dashes, informed) = (
        _finite(cube.sel(estimator=name)) for name in ("state_evolution", "state_evolution_informed")
    )
    curve(axes, line.alpha, line.values, COLORS["uninformed"], "uninformed start", flags=flags)
    theory_points(axes, dashes.alpha, dashes.values, informed, COLORS["informed"], "informed start")
    axes.set(ylabel=r"entropy $h(Y|X)/D$ (nats)", title="two layers, no noise")
    say_why(axes, NOT_SETTLED)
    axes.legend()


def _finite(part):
    """The finite entropies of an estimator, and their flags (alpha, replica)."""
    entropy = present(part.entropy.where(np.isfinite(part.entropy)))
    return entropy, passed(part, "entropy").sel(alpha=entropy.alpha).values


def _information(axes, cube):
    """Mutual information on the left axis, overlap on the right one, and the threshold."""
    information = present(cube.mutual_information)
    flags = passed(cube, "mutual_information").sel(alpha=information.alpha).values
    curve(axes, information.alpha, information.values, BLACK, "$I(W; Y|X)/D$", flags=flags)
    first = float(information.isel(alpha=1).mean() / information.alpha[1])
    axes.plot(information.alpha, first * information.alpha, ":", color="0.5", label="independent outputs")
    second = axes.twinx()
    second.spines["right"].set_visible(True)
    overlap = present(cube.overlap.sel(layer=1, layer_star=1))
    # A line from point to point would begin at a point of the grid, not at the threshold.
    flags = passed(cube, "overlap").sel(alpha=overlap.alpha).values
    curve(second, overlap.alpha, overlap.values, LAYER_COLORS[1], None, "--", flags=flags, marker="o", markersize=3)
    axes.plot([], [], "--o", color=LAYER_COLORS[1], markersize=3, label="overlap $Q$ (right axis)")
    value, error = (float(part.item()) for part in layer_threshold_and_error(cube, 1))
    mark_threshold(axes, value, LAYER_COLORS[1], error, "threshold")
    noise = specifications(cube)["state_evolution"]["model"]["noise"]
    axes.set(ylabel="nats per dimension", ylim=(0, None), title=rf"one layer, noise $\Delta = {noise:g}$")
    second.set(ylim=(0, 1.4), yticks=[0, 0.5, 1.0])
    second.set_ylabel("overlap $Q$", color=LAYER_COLORS[1])
    second.tick_params(axis="y", colors=LAYER_COLORS[1])
    for panel in (axes, second):
        say_why(panel, NOT_SETTLED)
    axes.legend(loc="lower right")


def numbers(cubes):
    """The mean entropy at the alpha next to one, of the scramblings with a finite one, and where the information leaves the line.

    That is the alpha from which on it lies below that of independent outputs by more than two standard errors.
    """
    entropy, _ = _finite(cubes["fig1_learning_curve"].sel(estimator="state_evolution"))
    information = present(cubes["noisy_attention"].mutual_information).transpose("alpha", "replica")
    alpha, (mean, error) = information.alpha.values, mean_and_error(information.values, axis=1)
    below = mean < mean[1] / alpha[1] * alpha - 2.0 * error
    last = np.flatnonzero(~below)[-1] + 1
    return {
        "entropy": float(entropy.sel(alpha=1.0, method="nearest").mean()),
        "leaves": float(alpha[last]) if last < len(alpha) else np.nan,
    }
