"""Weight decay beside the Bayes-optimal error and averaged gradient descent, at extensive width."""

import numpy as np

from attention_limits.attention_indexed.figures.erm.erm_shared import (
    ERROR,
    equations,
    evolution,
    legend_group,
    method_key,
    minima,
    of,
)
from attention_limits.attention_indexed.figures.erm.erm_shared import best as at_best
from attention_limits.attention_indexed.figures.shared import NOT_FITTED, fitted, model, setting
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    COLORS,
    KEY,
    WIDE,
    house_style,
    legend_below,
    mark_threshold,
    new_figure,
    ordered_colors,
    points,
    say_why,
)

# Errors below which the axis ends.
FLOOR = 1e-2
# Equations per entry at which the notes compare gradient descent with the best decay.
_COMPARED = 0.49


@house_style
def draw(cubes):
    """Errors of softmax and linear outputs against the equations, and the factor by which the best decay exceeds Bayes."""
    figure, (left, middle, right) = new_figure(1, 3, WIDE, 4.8)
    _draw_learning(left, cubes["erm_softmax"], cubes["erm_softmax_best"])
    method_key(left, (cubes["erm_softmax"], cubes["erm_linear"]))
    _draw_descent(left, cubes["fig2_right_gradient_descent"])
    linear, best = cubes["erm_linear"], cubes["erm_linear_best"]
    _draw_learning(middle, linear, best.sel(score_noise=model(linear, "score_noise")))
    _draw_ratio(right, of(best, "erm_optimal_decay"), of(cubes["erm_softmax_best"], "erm_optimal_decay"))
    left.set(title="softmax, no noise", xlim=(0, 1.05), ylim=(0, 2))
    middle.set(title=r"linear scores, $\tau = 0.1$", xlim=(0, 2.6), ylim=(FLOOR, 2), yscale="log")
    for axes in (left, middle):
        axes.set(ylabel=ERROR)
    # Decays come first, then references, then data sets. The right panel draws other lines.
    legend_below(figure, (left, middle), key=legend_group)
    right.legend(loc="upper right")
    for axes in (left, middle, right):
        axes.set(xlabel=r"equations per distinct entry of $S$, $K\alpha$")
    return figure


def numbers(cubes):
    """The largest ratio of the best decay to Bayes with noise, and exact recovery without it, in equations per entry.

    Without noise, in addition: the errors of the limit of many starts, of the best decay and of Bayes at `_COMPARED` equations,
    and of the limit of many starts next to the exact recovery of decay.
    """
    noisy, clean = of(cubes["erm_linear_best"], "erm_optimal_decay"), cubes["erm_softmax"]
    noisy = noisy.sel(score_noise=noisy.score_noise > 0)
    ratio = _ratio(noisy).where(passed(noisy, "mse", unique=True) == 1)
    ends = of(clean, "erm_state_evolution").isel(weight_decay=0, replica=0, alpha=0)
    found = {"decay": ends.exact_recovery, "bayes": ends.recovery_threshold}
    found = {name: equations(clean) * float(end) for name, end in found.items()}
    best, descent = of(cubes["erm_softmax_best"], "erm_optimal_decay"), cubes["fig2_right_gradient_descent"]
    starts = descent.mmse_extrapolated.transpose("alpha", "replica").mean("replica")
    shown = {"starts": starts, "best": best.mse.mean("replica"), "least": best.mse_bayes.mean("replica")}
    few = {name: float(part.sel(alpha=_COMPARED / equations(clean), method="nearest")) for name, part in shown.items()}
    late = starts.sel(alpha=found["decay"] / equations(clean), method="nearest")
    return {"ratio": float(ratio.max()), "late": float(late)} | found | few


def _draw_learning(axes, cube, best):
    """State evolution at each decay and at the best one, minima on data sets, and the Bayes-optimal error."""
    theory, optimal = of(cube, "erm_state_evolution"), of(best, "erm_optimal_decay")
    K = equations(cube)
    for decay in cube.weight_decay.values:
        evolution(axes, theory, decay, "mse", K)
        minima(axes, cube, decay, "mse", K)
    at_best(axes, optimal, "mse", K)
    bayes = (theory if theory.alpha.size > optimal.alpha.size else optimal).mse_bayes.isel(replica=0)
    bayes = bayes if "weight_decay" not in bayes.dims else bayes.isel(weight_decay=0)
    axes.plot(K * bayes.alpha, bayes, color=COLORS["bayes"], label="Bayes-optimal")
    thresholds = theory.isel(weight_decay=0, replica=0, alpha=0)
    for value, color in ((thresholds.recovery_threshold, COLORS["bayes"]), (thresholds.exact_recovery, COLORS["best"])):
        if np.isfinite(value):
            mark_threshold(axes, K * float(value), color)


def _draw_descent(axes, cube):
    """Gradient descent without decay: one start, and the limit of many starts."""
    tokens = model(cube, "tokens")
    K, dimension = tokens**2 + tokens - 2, setting(cube, "gradient_descent", "dimension")
    shown = (
        (cube.mmse_average.sel(average=1), COLORS["descent"], "v", f"gradient descent, one start, $d = {dimension}$"),
        (cube.mmse_extrapolated, COLORS["average"], "*", f"limit of many starts, $d = {dimension}$"),
    )
    for values, color, marker, label in shown:
        replicas = values.transpose("alpha", "replica").values
        points(axes, K * cube.alpha.values, replicas, fitted(cube), color, label, marker)
        say_why(axes, NOT_FITTED)


def _ratio(part):
    """Error over the Bayes-optimal one, where this is above the rounding."""
    return (part.mse / part.mse_bayes).where(part.mse_bayes > 1e-6)


def _draw_ratio(axes, linear, softmax):
    """Error of the best decay over the Bayes-optimal one, where both are above the rounding."""
    noises = linear.score_noise.values
    # The colours of the other panels are decays.
    colors = ordered_colors(np.arange(len(noises)), colormap="YlOrBr_r", high=1.5 * len(noises))
    for noise, color in zip(noises, colors, strict=True):
        part = linear.sel(score_noise=noise).isel(replica=0)
        ratio = _ratio(part).where(passed(part, "mse", unique=True) == 1)
        axes.plot(
            equations(linear) * part.alpha,
            ratio,
            color=color,
            label=rf"linear, $\tau = {noise:g}$",
        )
    ratio, flags = (
        array.transpose("alpha", "replica").values for array in (_ratio(softmax), passed(softmax, "mse", unique=True))
    )
    points(axes, equations(softmax) * softmax.alpha.values, ratio, flags, KEY, "softmax, no noise", "s")
    axes.axhline(1.0, color="0.6", linewidth=0.8, zorder=0)
    axes.set(
        title=r"best $\lambda$ against Bayes", xscale="log", ylabel="error / Bayes-optimal error", ylim=(0.95, 1.8)
    )
