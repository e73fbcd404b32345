"""The growth of the cost as a figure: one panel per kind of size, log-log, with the fitted power laws."""

import math
import re
import textwrap

import numpy as np
from matplotlib.ticker import NullLocator

from attention_limits.plotting import BLUE, KEY, WIDE, house_style, new_figure

COLUMNS = 4
# A line stands for a power law only where no median is farther from it than this factor.
STRAIGHT = 1.2


@house_style
def draw(growths, path):
    """Write the fits, a list of `table.Growth`, to the image `path`: median and range of the time against the size."""
    rows = math.ceil(len(growths) / COLUMNS)
    figure, panels = new_figure(rows, COLUMNS, WIDE, 2.5 * rows, squeeze=False)
    for axes, fit in zip(panels.flat, growths, strict=False):
        size = np.array(fit.sizes)
        median, low, high = (
            np.array([getattr(spread, key) for spread in fit.seconds]) for key in ("median", "low", "high")
        )
        axes.errorbar(
            size,
            median,
            [median - low, high - median],
            linestyle="none",
            marker="o",
            markersize=4,
            capsize=2,
            color=BLUE,
        )
        law = np.exp(np.mean(np.log(median)) + fit.exponent * (np.log(size) - np.mean(np.log(size))))
        # A line never ends inside of a formula: no-break spaces.
        words = textwrap.fill(re.sub(" ([=×]) ", "\u00a0\\1\u00a0", fit.what), 30)
        if np.abs(np.log(median / law)).max() < math.log(STRAIGHT):
            axes.plot(size, law, color=KEY, linewidth=1, zorder=1)
            # Adding zero removes the sign of a zero.
            finding = f"exponent {round(fit.exponent, 2) + 0.0:.2f} ± {fit.error:.2f}"
        else:
            steps = np.diff(np.log(median)) / np.diff(np.log(size))
            finding = f"no power law: {steps[0]:.2f} to {steps[-1]:.2f}"
        axes.set_title(words + "\n" + finding.replace("-", "−"), fontsize=8)
        # The letter stands above the labels of the axis, where no title reaches it.
        axes.set_title(axes.get_title(loc="left"), loc="left", x=-0.3, fontweight="bold")
        axes.set(xscale="log", yscale="log", xlabel=fit.size, ylabel="seconds")
        shown = size[np.unique(np.linspace(0, len(size) - 1, 3).astype(int))]
        axes.set_xticks(shown, [f"{value:g}" for value in shown])
        axes.xaxis.set_minor_locator(NullLocator())
        # A constant cost must not look steep because of a short axis.
        bottom, top = axes.get_ylim()
        if top / bottom < 10:
            middle = math.sqrt(top * bottom)
            axes.set_ylim(middle / 10**0.5, middle * 10**0.5)
    for axes in list(panels.flat)[len(growths) :]:
        axes.remove()
    figure.savefig(path)
