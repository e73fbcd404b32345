"""Averaged gradient descent and AMP at several dimensions, and the limit of their difference."""

import numpy as np

from attention_limits.attention_indexed.figures.finite.laws import SHIFT, draw_law, left_out, shade_limit
from attention_limits.attention_indexed.readings import by_dimension, descent_excess, inverse_law
from attention_limits.pipeline.cubes.readings import at
from attention_limits.plotting import COLORS, NARROW, VERMILLION, house_style, largest, legend_below, new_figure


@house_style
def draw(cubes):
    """From the cube descent_sizes: errors on the same data sets against 1/d, in units of the Bayes-optimal error."""
    cube, (figure, axes) = cubes["descent_sizes"], new_figure(1, 1, NARROW, 4.2)
    alpha = float(cube.alpha.values[0])
    amp = at(cube, estimator="matrix_amp_sizes", alpha=alpha)
    limit = float(amp.mmse_limit.max())
    shift = SHIFT / float(cube.dimension.min())
    descent = by_dimension(cube, "mmse_extrapolated", "finite", estimator="gradient_descent", alpha=alpha)
    shown = (
        (descent, COLORS["average"], "*", shift, "gradient descent, limit of many starts"),
        (by_dimension(amp, "mmse"), COLORS["amp"], "o", -shift, f"AMP, the same data{left_out(amp)}"),
    )
    for (dimension, mean, error), color, marker, beside, label in shown:
        look = {"color": color, "markersize": 5, "capsize": 2, "elinewidth": 1, "label": label}
        axes.errorbar(1.0 / dimension + beside, mean / limit, error / limit, fmt=marker, **look)
    dimension, mean, error = descent_excess(cube, alpha=alpha)
    look, label = {"fmt": "D", "color": VERMILLION}, "Bayes-optimal + difference of both"
    draw_law(axes, (dimension, limit + mean, error), limit, look, (0.0, -0.0015), label=label, order=1)
    axes.axhline(1.0, color="black", linewidth=0.8, linestyle=":", label="Bayes-optimal")
    axes.set(
        xlabel="$1/d$", ylabel="error / Bayes-optimal error", xlim=(-0.005, 1.06 / float(cube.dimension.min())),
        title=rf"softmax, $M = 2$, $\rho = 0.5$, $\alpha = {alpha:g}$",
    )  # fmt: skip
    axes.set_ylim(bottom=min(0.95, axes.get_ylim()[0]))
    shade_limit(axes)
    legend_below(figure, axes, ncols=2)
    return figure


def numbers(cubes):
    """Limit of one plus the difference of both ratios, with its error; range of AMP above the Bayes-optimal error in per cent."""
    cube = cubes["descent_sizes"]
    alpha = float(cube.alpha.values[0])
    amp = at(cube, estimator="matrix_amp_sizes", alpha=alpha)
    bayes = float(amp.mmse_limit.max())
    dimension, mean, error = descent_excess(cube, alpha=alpha)
    coefficients, spread = inverse_law(dimension, mean, error, 1) if len(dimension) > 2 else ([np.nan], np.nan)
    excess = 100.0 * (by_dimension(amp, "mmse")[1] / bayes - 1.0)
    return {
        "limit": 1.0 + float(coefficients[0]) / bayes,
        "error": spread / bayes,
        "least": -largest(-excess),
        "most": largest(excess),
    }
