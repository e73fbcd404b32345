"""The growth of the cost as a figure: one panel per kind of size, log-log, with the fitted power laws."""

import math

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullLocator


def draw(growths, path):
    """Write the fits, a list of `table.Growth`, to the image `path`: median and range of the time against the size."""
    columns = 4
    rows = math.ceil(len(growths) / columns)
    figure, panels = plt.subplots(
        rows, columns, figsize=(3.1 * columns, 2.7 * rows), layout="constrained", squeeze=False
    )
    for axes, fit in zip(panels.flat, growths, strict=False):
        size = np.array(fit.sizes)
        median, low, high = (
            np.array([getattr(spread, key) for spread in fit.seconds]) for key in ("median", "low", "high")
        )
        axes.errorbar(size, median, [median - low, high - median], fmt="o", markersize=4, capsize=2, color="#0072B2")
        middle = np.exp(np.mean(np.log(median)) + fit.exponent * (np.log(size) - np.mean(np.log(size))))
        axes.plot(size, middle, color="0.4", linewidth=1, label=rf"exponent {fit.exponent:.2f} $\pm$ {fit.error:.2f}")
        axes.set(xscale="log", yscale="log", xlabel=fit.size, ylabel="seconds")
        shown = size[np.unique(np.linspace(0, len(size) - 1, 3).astype(int))]
        axes.set_xticks(shown, [f"{value:g}" for value in shown])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_title("\n".join(_halves(fit.what)), fontsize=8)
        axes.legend(fontsize=7, frameon=False)
        # A constant cost must not look steep because of a short axis.
        bottom, top = axes.get_ylim()
        if top / bottom < 10:
            middle = math.sqrt(top * bottom)
            axes.set_ylim(middle / 10**0.5, middle * 10**0.5)
    for axes in list(panels.flat)[len(growths) :]:
        axes.set_axis_off()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _halves(text):
    """A title on two lines, broken at the comma nearest to its middle."""
    commas = [i for i, letter in enumerate(text) if letter == ","]
    if not commas:
        return [text]
    cut = min(commas, key=lambda i: abs(i - len(text) / 2))
    return [text[: cut + 1], text[cut + 2 :]]
