"""Errors of the estimate and of the output against the number of samples per dimension and width, down to the limit of small
width."""

from attention_limits.attention_indexed.figures.shared import ESTIMATION, GENERALISATION, ratio_color
from attention_limits.plotting import banded_line, house_style, new_figure


@house_style
def draw_small_width(cube, logarithmic, marks):
    """One line per ratio, that of the limit in black; `marks` are the values of alpha / rho to mark, with their labels.

    A logarithmic x axis is for learning without exact recovery. Returns the figure, and the axes of the error of the estimate.
    """
    figure, (left, right) = new_figure(1, 2, 9.2, 3.7)
    part = cube.isel(replica=0)
    for ratio in cube.ratio.values[::-1]:
        at, label = part.sel(ratio=ratio), rf"$\rho = {ratio:g}$" if ratio else r"$\rho \to 0$"
        look = {"color": ratio_color(ratio), "linestyle": "-" if ratio else "--", "zorder": 2 if ratio else 3}
        left.plot(part.rescaled_alpha, at.mmse, label=label, **look)
        for variable, width in (("error_bayes", 1.5), ("error_plug_in", 0.7)):
            error = at[f"{variable}_uncertainty"]
            banded_line(right, part.rescaled_alpha, at[variable], error, linewidth=width, **look)
    for axes in (left, right):
        for position, text in marks:
            axes.axvline(position, color="0.6", linewidth=0.8, linestyle=":", zorder=1)
            axes.annotate(
                text, (position, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 2), textcoords="offset points",
                ha="center", va="bottom", fontsize=7.5,
            )  # fmt: skip
        axes.set(
            xlabel=r"samples per dimension and width $\bar\alpha = n/(dr)$",
            xscale="log" if logarithmic else "linear",
            xlim=(float(part.rescaled_alpha[0]), float(part.rescaled_alpha[-1])),
        )
    for label, width in (("posterior mean of the output", 1.5), ("output of the estimate", 0.7)):
        right.plot([], [], color="0.3", linewidth=width, label=label)
    right.legend(loc="upper right")
    left.set(ylabel=ESTIMATION, ylim=(0, 1.03))
    # Room for the legend above the curves.
    right.set(ylabel=GENERALISATION, ylim=(0, 1.2 * float(part.error_plug_in.max())))
    return figure, left
