"""Finite dimension: iterations of matrix AMP, its limit of large d, the exact posterior of small layers, gradient descent."""

import numpy as np
from numpy.polynomial.polynomial import polyval

from attention_limits.attention_indexed.figures.shared import ESTIMATION
from attention_limits.attention_indexed.readings import (
    by_dimension,
    descent_excess,
    dropped,
    inverse_law,
    pooled_errors,
)
from attention_limits.pipeline.cubes.readings import at
from attention_limits.plotting import (
    COLORS,
    GREEN,
    KEY,
    PURPLE,
    SKY,
    VERMILLION,
    WIDE,
    curve,
    flagged_entry,
    house_style,
    new_figure,
    ordered_colors,
    points,
)

AMP, VARIANCE, MEAN, DESCENT = COLORS["amp"], VERMILLION, PURPLE, COLORS["average"]
CHANNELS = ("linear", "softmax", "hardmax")
# Colours and symbols of the alphas of a channel.
LOOKS = ((AMP, "o"), (VARIANCE, "s"), (GREEN, "^"))
# Shifts of symbols in 1/d that would hide each other, and distances of the limits to 1/d = 0.
SHIFT, STEP = 0.00025, 0.0008


@house_style
def draw(cubes):
    """From the cubes iterations, sizes_linear, sizes_softmax, sizes_hardmax, posterior_hardmax and descent_sizes."""
    figure, (above, below) = new_figure(2, 3, WIDE, 7.6)
    _draw_iterations(above[0], cubes["iterations"])
    for axes, channel in zip((above[1], above[2], below[0]), CHANNELS, strict=True):
        _draw_channel(axes, cubes[f"sizes_{channel}"], channel)
    _draw_posterior(below[1], cubes["posterior_hardmax"], cubes["sizes_hardmax"])
    _draw_descent(below[2], cubes["descent_sizes"])
    return figure


def _draw_iterations(axes, cube):
    part = cube.isel(alpha=0)
    colors = ordered_colors(part.dimension.values, logarithmic=True)
    for color, dimension in zip(colors, part.dimension.values, strict=True):
        errors = part.mmse_by_iteration.sel(dimension=dimension).transpose("iteration", "replica").values
        curve(axes, part.iteration.values, errors, color, f"AMP, $d = {dimension:g}$")
    limit = part.limit_by_iteration.isel(dimension=0, replica=0)
    axes.plot(part.iteration, limit, "--", color="black", label="state evolution")
    axes.set(
        xlabel="undamped iteration", ylabel=ESTIMATION, ylim=(0, None),
        title=rf"softmax, $T = 2$, $\rho = 0.5$, $\alpha = {float(part.alpha):g}$",
    )  # fmt: skip
    axes.legend(loc="lower left")


def _draw_channel(axes, cube, channel):
    """Errors of AMP and their predictions at each alpha, divided by the limit from state evolution."""
    place = 0
    for number, (alpha, (color, marker)) in enumerate(zip(cube.alpha.values, LOOKS, strict=False)):
        part = cube.sel(alpha=alpha)
        limit = float(part.mmse_limit.max())
        for variable, opacity, style in (("mmse", 1.0, "-"), ("mmse_predicted", 0.45, "--")):
            shift = SHIFT * (2 * number - 1 + (opacity < 1.0))
            look = {"fmt": marker, "color": color, "alpha": opacity}
            _law(axes, by_dimension(part, variable), limit, look, shift, -(1 + place) * STEP, style)
            place += 1
        axes.plot([], [], marker, color=color, markersize=4, label=rf"$\alpha = {alpha:g}${_left_out(part)}")
    for opacity, style, label in ((1.0, "-", "error of AMP"), (0.45, "--", "predicted by AMP")):
        axes.plot([], [], marker="o", linestyle=style, linewidth=0.7, color=KEY, alpha=opacity, label=label)
    axes.axhline(1.0, color="black", linewidth=0.8, linestyle=":", label="state evolution")
    largest = 1.0 / float(cube.dimension.min())
    # The labels of more than three dimensions would overlap.
    labelled = cube.dimension.values[:: 1 if cube.sizes["dimension"] <= 3 else 2]
    axes.set(
        xlabel="$1/d$", ylabel="error / limit of state evolution", xticks=[0.0, *(1.0 / labelled)],
        title=rf"{channel}, $T = 2$, $\rho = 0.5$, damped", xlim=(-(1 + place) * STEP, 1.08 * largest),
    )  # fmt: skip
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:.3g}")
    _shade_limit(axes)
    axes.legend(loc="upper left")


def _left_out(part, sound="converged"):
    """Text: how many of the runs are left out of the means."""
    lost, total = dropped(part, sound)
    return f", {lost} of {total} runs dropped" if lost else ""


def _law(axes, means, limit, look, shift, place, style="-", label=None, order=None):
    """Means with errors against 1/d in units of `limit`, moved by `shift`; from three dimensions on also their law and its limit.

    The limit stands at `place`; `order` is that of `inverse_law`.
    """
    dimension, mean, error = means
    look = {"capsize": 2, "elinewidth": 1, **look}
    axes.errorbar(1.0 / dimension + shift, mean / limit, error / limit, markersize=4, label=label, **look)
    if len(dimension) > 2:
        coefficients, spread = inverse_law(dimension, mean, error, order)
        x = np.linspace(0.0, 1.0 / dimension.min(), 60)
        axes.plot(x, polyval(x, coefficients) / limit, color=look["color"], linewidth=0.7, linestyle=style)
        at_limit = {**look, "markersize": 6, "zorder": 4}
        axes.errorbar([place], [coefficients[0] / limit], [spread / limit], **at_limit)


def _shade_limit(axes):
    """Grey where 1/d would be negative: symbols there are limits."""
    axes.axvspan(axes.get_xlim()[0], 0.0, color="0.93", linewidth=0, zorder=0)
    axes.annotate(
        r"$d \to \infty$", (0.0, 0.0), xycoords=("data", "axes fraction"), xytext=(-3, 4), textcoords="offset points",
        ha="right", fontsize=7.5,
    )  # fmt: skip


def _draw_posterior(axes, cube, sizes):
    """Exact posterior and AMP on the same small data sets, AMP at larger d on others, and the limits."""
    alpha = float(cube.alpha.values[0])
    part = cube.sel(alpha=alpha)
    samples, amp = part.sel(estimator="posterior_sampling"), part.sel(estimator="matrix_amp_sizes")
    dimension = part.dimension.values
    mixed = samples.converged == 1
    variances, errors, own, converged = (
        values.transpose("dimension", "replica").values
        for values in (samples.posterior_variance.where(mixed), samples.mmse.where(mixed), amp.mmse, amp.converged)
    )
    lost = int((samples.converged == 0).sum())
    dropped_chains = f", {lost} of {samples.converged.size} sets dropped" if lost else ""
    look = {"fmt": "D", "color": VARIANCE}
    label = f"variance of the exact posterior{dropped_chains}"
    _law(axes, pooled_errors(dimension, variances), 1.0, look, -0.0012, -0.004, label=label)
    kept, mean, error = pooled_errors(dimension, errors)
    axes.errorbar(
        1.0 / kept, mean, error, fmt="s", color=MEAN, markersize=4, capsize=2, elinewidth=1, label="error of its mean"
    )
    points(axes, 1.0 / dimension + 0.0012, own, converged, AMP, "AMP, the same data")
    flagged_entry(axes)
    here = sizes.sel(alpha=alpha)
    look, label = {"fmt": "^", "color": SKY}, f"AMP, other data{_left_out(here)}"
    _law(axes, by_dimension(here, "mmse"), 1.0, look, 0.0, -0.008, label=label)
    axes.axhline(float(here.mmse_limit.max()), color="black", linewidth=0.8, linestyle=":", label="state evolution")
    axes.set(
        xlabel="$1/d$", ylabel=ESTIMATION, ylim=(0, 1.5), xlim=(-0.02, 1.06 / dimension.min()),
        title=rf"hardmax, $T = 2$, $\rho = 0.5$, $\alpha = {alpha:g}$",
    )  # fmt: skip
    _shade_limit(axes)
    axes.legend(loc="upper left", bbox_to_anchor=(0.08, 1.0))


def _draw_descent(axes, cube):
    """Gradient descent and AMP on the same data sets against 1/d in units of the Bayes-optimal error, and their difference."""
    alpha = float(cube.alpha.values[0])
    amp = at(cube, estimator="matrix_amp_sizes", alpha=alpha)
    limit = float(amp.mmse_limit.max())
    descent = by_dimension(cube, "mmse_extrapolated", "finite", estimator="gradient_descent", alpha=alpha)
    shown = (
        (descent, DESCENT, "*", SHIFT, "gradient descent, limit of many starts"),
        (by_dimension(amp, "mmse"), AMP, "o", -SHIFT, f"AMP, the same data{_left_out(amp)}"),
    )
    for (dimension, mean, error), color, marker, shift, label in shown:
        look = {"color": color, "markersize": 5, "capsize": 2, "elinewidth": 1, "label": label}
        axes.errorbar(1.0 / dimension + shift, mean / limit, error / limit, fmt=marker, **look)
    dimension, mean, error = descent_excess(cube, alpha=alpha)
    look, label = {"fmt": "D", "color": VARIANCE}, "Bayes-optimal + difference of both"
    _law(axes, (dimension, limit + mean, error), limit, look, 0.0, -0.0015, label=label, order=1)
    axes.axhline(1.0, color="black", linewidth=0.8, linestyle=":", label="Bayes-optimal")
    axes.set(
        xlabel="$1/d$", ylabel="error / Bayes-optimal error", ylim=(0.9, 2.0), xlim=(-0.005, 1.06 / float(cube.dimension.min())),
        title=rf"softmax, $T = 2$, $\rho = 0.5$, $\alpha = {alpha:g}$",
    )  # fmt: skip
    _shade_limit(axes)
    axes.legend(loc="upper left")
