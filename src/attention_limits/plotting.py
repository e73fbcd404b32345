"""One style for all figures, and functions that show numbers with errors."""

import io

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from attention_limits.numerics.statistics import mean_and_error

# Okabe and Ito's palette, which readers with any colour vision distinguish. One colour per layer, everywhere.
LAYER_COLORS = {1: "#D55E00", 2: "#0072B2", 3: "#009E73", 4: "#CC79A7", 5: "#E69F00"}
# Paul Tol's muted palette, for curves that do not belong to one layer.
SERIES_COLORS = ("#332288", "#999933", "#882255", "#88CCEE", "#000000")
ERROR_COLORS = {"plug_in": "#000000", "bayes": "#CC79A7"}
PUBLISHED = {
    "marker": "x",
    "markersize": 4,
    "linestyle": "none",
    "color": "0.55",
    "markeredgewidth": 0.8,
    "zorder": 1,
    "clip_on": False,
}
# Tints of the layers' colours, for the layer that was learned last; 0 means that no layer is learned.
PHASE_COLORS = {0: "#f2f2f2", 1: "#fbe9dc", 2: "#e2edf6", 3: "#e1f2ec"}

_SETTINGS = {
    "font.size": 9,
    "figure.dpi": 200,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.5,
}

# Decorates every draw(): labels and legends take their settings when they are made.
house_style = mpl.rc_context(_SETTINGS)


class _Picture(Figure):
    """A figure that a notebook shows, without pyplot."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png")
        return content.getvalue()


def new_figure(rows, columns, width, height, **subplots):
    """A figure and its axes; width and height in inches, further arguments as for `Figure.subplots`."""
    figure = _Picture(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **subplots)


def present(array, dimension="alpha"):
    """Drop the grid values at which an estimator has no value."""
    return array.dropna(dimension, how="all")


def realised_alpha(part, alpha):
    """Alpha of the data sets of a simulation at the values `alpha` of its grid: n is rounded, in all replicas alike."""
    return part.realised_alpha.sel(alpha=alpha).max("replica").values


def banded_line(axes, x, values, error, color, label=None, **look):
    """A line with a band of plus and minus `error` around its `values`; `look` are further properties of the line."""
    axes.plot(x, values, color=color, label=label, **look)
    axes.fill_between(x, values - error, values + error, color=color, alpha=0.3, linewidth=0)


def curve(axes, x, replicas, color, label, linestyle="-", converged=None, **look):
    """Mean over replicas as a line, plus and minus one standard error as a band, with a square where one has not converged.

    Parameters
    ----------
    x : array (n,)
    replicas : array (n, replicas)
        Missing values are NaN.
    converged : array (n, replicas) of 0, 1 and NaN, optional
    look : properties of the line
    """
    mean, error = mean_and_error(replicas, axis=1)
    banded_line(axes, x, mean, error, color, label, linestyle=linestyle, **look)
    if converged is not None:
        open_points = np.any(converged == 0, axis=1)
        axes.plot(
            x[open_points], mean[open_points], "s", color=color, markerfacecolor="white", markersize=5, zorder=2.5
        )


def points(axes, x, replicas, converged, color, label, marker="o"):
    """Mean over replicas as a marker with its standard error as a bar; hollow where fewer than half have converged.

    Parameters
    ----------
    replicas : array (n, replicas)
        Missing values are NaN.
    converged : array (n, replicas) of 0, 1 and NaN
    """
    mean, error = mean_and_error(replicas, axis=1)
    settled = np.nanmean(converged, axis=1) >= 0.5
    for chosen, face in ((settled, color), (~settled, "white")):
        if np.any(chosen):
            axes.errorbar(
                x[chosen], mean[chosen], error[chosen], color=color, markerfacecolor=face, label=label,
                linestyle="none", marker=marker, markersize=4, capsize=2, elinewidth=1, zorder=3,
            )  # fmt: skip
            # One entry in the legend, also where all points are hollow.
            label = None


def shade_phases(axes, boundaries, labels, layers, low, high):
    """Shade the intervals between the boundaries of the x axis and write a label at the top of each.

    `layers` are the layers learned at the boundaries, in order: an interval has the tint of the layer that is learned at its
    left edge.
    """
    edges = [low, *boundaries, high]
    for left, right, layer, label in zip(edges[:-1], edges[1:], (0, *layers), labels, strict=True):
        axes.axvspan(left, right, color=PHASE_COLORS[layer], linewidth=0, zorder=0)
        axes.annotate(
            label, (0.5 * (left + right), 1.0), xycoords=("data", "axes fraction"), xytext=(0, 2),
            textcoords="offset points", ha="center", va="bottom", fontsize=7.5,
        )  # fmt: skip
