"""Error against the number of samples per dimension and width, down to the limit of small width."""

from attention_limits.attention_indexed.figures.shared import ratio_color
from attention_limits.plotting import house_style, new_figure


@house_style
def draw_small_width(cube, logarithmic, marks):
    """One line per ratio, that of the limit in black; `marks` are the values of alpha / rho to mark, with their labels.

    A logarithmic x axis is for learning without exact recovery.
    """
    figure, axes = new_figure(1, 1, 5.2, 3.6)
    part = cube.mmse.isel(replica=0)
    for ratio in cube.ratio.values[::-1]:
        label = rf"$\rho = {ratio:g}$" if ratio else r"$\rho \to 0$"
        axes.plot(
            part.rescaled_alpha, part.sel(ratio=ratio), color=ratio_color(ratio), label=label,
            linestyle="-" if ratio else "--", zorder=2 if ratio else 3,
        )  # fmt: skip
    for position, text in marks:
        axes.axvline(position, color="0.6", linewidth=0.8, linestyle=":", zorder=1)
        axes.annotate(
            text, (position, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 2), textcoords="offset points",
            ha="center", va="bottom", fontsize=7.5,
        )  # fmt: skip
    axes.set(
        xlabel=r"samples per dimension and width $\bar\alpha = n/(dr)$", ylabel=r"error $\|S - \hat S\|_F^2/d$",
        xscale="log" if logarithmic else "linear", ylim=(0, 1.03),
        xlim=(float(part.rescaled_alpha[0]), float(part.rescaled_alpha[-1])),
    )  # fmt: skip
    return figure, axes
