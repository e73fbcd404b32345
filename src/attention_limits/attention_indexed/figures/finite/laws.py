"""Parts of the figures of finite dimension: means against 1/d, their law and its limit."""

import numpy as np
from numpy.polynomial.polynomial import polyval

from attention_limits.attention_indexed.readings import dropped, inverse_law

# Shift of symbols that would hide each other, and distance of the limits to 1/d = 0, both in units of the largest 1/d.
SHIFT, STEP = 0.0125, 0.04


def draw_law(axes, means, limit, look, places, style="-", label=None, order=None):
    """Means with errors against 1/d in units of `limit`; their law and its limit too if there are at least three dimensions.

    `places` is the shift of the means and the place of the limit on the axis; `order` is that of `inverse_law`.
    """
    (dimension, mean, error), (shift, place) = means, places
    look = {"capsize": 2, "elinewidth": 1, **look}
    axes.errorbar(1.0 / dimension + shift, mean / limit, error / limit, markersize=4, label=label, **look)
    if len(dimension) > 2:
        coefficients, spread = inverse_law(dimension, mean, error, order)
        x = np.linspace(0.0, 1.0 / dimension.min(), 60)
        axes.plot(x, polyval(x, coefficients) / limit, color=look["color"], linewidth=0.7, linestyle=style)
        at_limit = {**look, "markersize": 6, "zorder": 4}
        axes.errorbar([place], [coefficients[0] / limit], [spread / limit], **at_limit)


def left_out(part):
    """Text: how many of the runs are left out of the means."""
    lost, total = dropped(part)
    return f", {lost} of {total} runs dropped" if lost else ""


def shade_limit(axes):
    """Grey, without numbers, where 1/d would be negative: symbols there are limits."""
    low, high = axes.get_xlim()
    axes.set(xticks=[place for place in axes.get_xticks() if 0.0 <= place <= high], xlim=(low, high))
    axes.axvspan(low, 0.0, color="0.93", linewidth=0, zorder=0)
    axes.annotate(
        r"$d \to \infty$", (0.0, 0.0), xycoords=("data", "axes fraction"), xytext=(-3, 4), textcoords="offset points",
        ha="right", va="bottom", fontsize=7.5,
    )  # fmt: skip
