"""Finite dimension: iterations of matrix AMP, its limit of large d, the exact posterior of small layers, gradient descent."""

import matplotlib as mpl
import numpy as np

from attention_limits.attention_indexed.figures.shared import ESTIMATION
from attention_limits.attention_indexed.readings import by_dimension, inverse_law
from attention_limits.numerics.statistics import mean_and_error
from attention_limits.pipeline.readings import at
from attention_limits.plotting import curve, house_style, new_figure, points

AMP, PREDICTED, VARIANCE, MEAN = "#0072B2", "#56B4E9", "#D55E00", "#CC79A7"
CHANNELS = {"linear": "#009E73", "softmax": AMP, "hardmax": VARIANCE}
MARKERS = ("o", "s", "^")
# Distance of the extrapolations to 1/d = 0.
STEP = 0.0006


@house_style
def draw(cubes):
    """From the cubes iterations, sizes_linear, sizes_softmax, sizes_hardmax, posterior_hardmax and descent_sizes."""
    figure, ((left, middle), (right, last)) = new_figure(2, 2, 9.4, 8.0)
    _draw_iterations(left, cubes["iterations"])
    place = 0
    for channel, color in CHANNELS.items():
        cube = cubes[f"sizes_{channel}"]
        for alpha, marker in zip(cube.alpha.values, MARKERS, strict=False):
            _draw_sizes(middle, cube.sel(alpha=alpha), f"{channel}, $\\alpha = {alpha:g}$", color, marker, place)
            place += 1
    middle.axhline(1.0, color="black", linewidth=0.8, linestyle=":")
    for marker, face, label in (("o", "0.3", "error of AMP"), ("o", "white", "predicted by AMP")):
        middle.plot([], [], marker, color="0.3", markerfacecolor=face, markersize=4, label=label)
    middle.set(
        xlabel="$1/d$",
        ylabel="error in units of its limit",
        xticks=[0.0, 0.005, 0.01, 0.015, 0.02],
        title=r"$T = 2$, $\rho = 0.5$, damped",
    )
    middle.legend(loc="upper left")
    _draw_posterior(right, cubes["posterior_hardmax"], cubes["sizes_hardmax"])
    _draw_descent(last, cubes["descent_sizes"], cubes["sizes_softmax"])
    return figure


def _draw_iterations(axes, cube):
    part = cube.isel(alpha=0)
    for place, dimension in zip(np.linspace(0.75, 0.1, part.sizes["dimension"]), part.dimension.values, strict=True):
        errors = part.mmse_by_iteration.sel(dimension=dimension).transpose("iteration", "replica").values
        curve(axes, part.iteration.values, errors, mpl.colormaps["viridis"](place), f"AMP, $d = {dimension:g}$")
    limit = part.limit_by_iteration.isel(dimension=0, replica=0)
    axes.plot(part.iteration, limit, "--", color="black", label="state evolution")
    axes.set(
        xlabel="undamped iteration", ylabel=ESTIMATION, ylim=(0, None),
        title=rf"softmax, $T = 2$, $\rho = 0.5$, $\alpha = {float(part.alpha):g}$",
    )  # fmt: skip
    axes.legend(loc="lower left")


def _draw_sizes(axes, cube, label, color, marker, place):
    """Means over the data sets against 1/d with their straight line, divided by the limit from state evolution.

    The extrapolations are at 1/d = 0, moved to the left by `place` steps so that they do not hide each other.
    """
    limit = float(cube.mmse_limit.max())
    for variable, face, style in (("mmse", color, "-"), ("mmse_predicted", "white", "--")):
        dimension, mean, error = by_dimension(cube, variable)
        look = {"fmt": marker, "color": color, "markerfacecolor": face, "capsize": 2, "elinewidth": 1}
        axes.errorbar(1.0 / dimension, mean / limit, error / limit, markersize=4, **look)
        if len(dimension) > 2:
            a, b, spread = inverse_law(dimension, mean, error)
            x = np.array([0.0, 1.0 / dimension.min()])
            axes.plot(x, (a + b * x) / limit, color=color, linewidth=0.7, linestyle=style)
            shift = -(place + 0.4 * (face != color)) * STEP
            axes.errorbar([shift], [a / limit], [spread / limit], markersize=5, zorder=4, **look)
    axes.plot([], [], marker, color=color, markersize=4, label=label)


def _draw_posterior(axes, cube, sizes):
    """Exact posterior and AMP on the same small data sets, AMP at larger d, and the limit."""
    alpha = float(cube.alpha.values[0])
    part = cube.sel(alpha=alpha)
    samples, amp = part.sel(estimator="posterior_sampling"), part.sel(estimator="matrix_amp_sizes")
    shown = (
        (samples.posterior_variance, VARIANCE, "D", "variance of the exact posterior", -0.0012),
        (samples.mmse, MEAN, "s", "error of its mean", 0.0),
        (amp.mmse, AMP, "o", "error of AMP, the same data", 0.0012),
    )
    for values, color, marker, label, shift in shown:
        replicas = values.transpose("dimension", "replica").values
        settled = amp.converged.transpose("dimension", "replica").values if color == AMP else np.ones_like(replicas)
        points(axes, 1.0 / part.dimension.values + shift, replicas, settled, color, label, marker)
    dimension, mean, error = by_dimension(sizes, "mmse", alpha=alpha)
    axes.errorbar(1.0 / dimension, mean, error, fmt="o", color=AMP, markersize=4, capsize=2, elinewidth=1)
    limit = float(sizes.mmse_limit.sel(alpha=alpha).max())
    axes.plot([0.0], [limit], "*", color="black", markersize=9, clip_on=False, label="state evolution")
    exact = mean_and_error(samples.posterior_variance.transpose("dimension", "replica").values, axis=1)
    a, b, _ = inverse_law(part.dimension.values, *exact)
    x = np.array([0.0, 1.0 / part.dimension.values.min()])
    axes.plot(x, a + b * x, color=VARIANCE, linewidth=0.7)
    axes.set(
        xlabel="$1/d$", ylabel=ESTIMATION, ylim=(0, None), xlim=(-0.002, None),
        title=rf"hardmax, $T = 2$, $\rho = 0.5$, $\alpha = {alpha:g}$",
    )  # fmt: skip
    axes.legend(loc="lower right")


def _draw_descent(axes, cube, sizes):
    """Gradient descent and AMP at one alpha against 1/d in units of the Bayes-optimal error, with their straight lines."""
    alpha = float(cube.alpha.values[0])
    limit = float(at(sizes.mmse_limit, alpha=alpha).max())
    shown = (
        (cube, "mmse_extrapolated", "finite", "#E69F00", "*", "gradient descent, limit of many starts"),
        (sizes, "mmse", "converged", AMP, "o", "AMP"),
    )
    for part, variable, sound, color, marker, label in shown:
        dimension, mean, error = by_dimension(part, variable, sound, alpha=alpha)
        look = {"fmt": marker, "color": color, "capsize": 2, "elinewidth": 1}
        axes.errorbar(1.0 / dimension, mean / limit, error / limit, markersize=4, label=label, **look)
        if len(dimension) > 2:
            a, b, spread = inverse_law(dimension, mean, error)
            x = np.array([0.0, 1.0 / dimension.min()])
            axes.plot(x, (a + b * x) / limit, color=color, linewidth=0.7)
            axes.errorbar([0.0], [a / limit], [spread / limit], markersize=7, zorder=4, clip_on=False, **look)
    axes.axhline(1.0, color="black", linewidth=0.8, linestyle=":", label="Bayes-optimal")
    axes.set(
        xlabel="$1/d$", ylabel="error in units of the Bayes-optimal one", ylim=(0.9, None), xlim=(-0.001, None),
        title=rf"softmax, $T = 2$, $\rho = 0.5$, $\alpha = {alpha:g}$",
    )  # fmt: skip
    axes.legend(loc="upper left")
