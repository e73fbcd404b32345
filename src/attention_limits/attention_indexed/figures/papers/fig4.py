"""Softmax attention of four and of five tokens."""

from attention_limits.attention_indexed.figures.papers.widths import draw_outputs, draw_widths
from attention_limits.attention_indexed.figures.shared import model, ratio_color
from attention_limits.plotting import MIDDLE, house_style, legend_below, new_figure

_CUBES = ("fig4_tokens4", "fig4_tokens5")


@house_style
def draw(cubes):
    """One column for each of the cubes fig4_tokens4 and fig4_tokens5: error of the estimate, and of the output."""
    figure, panels = new_figure(2, 2, MIDDLE, 6.8, sharex=True, sharey="row")
    for (above, below), name in zip(panels.T, _CUBES, strict=True):
        draw_widths(above, cubes[name])
        draw_outputs(below, cubes[name], "c, d")
        above.set_title(f"$M = {model(cubes[name], 'tokens')}$")
    # One axis for both numbers of tokens; beyond the last alpha of a cube the error stays zero.
    end = max(float(cube.alpha.max()) for cube in cubes.values())
    for (above, below), name in zip(panels.T, _CUBES, strict=True):
        for axes in (above, below):
            last, color = float(cubes[name].alpha.max()), ratio_color(float(cubes[name].ratio.max()))
            axes.plot([last, end], [0.0, 0.0], color=color)
            axes.set_xlim(0, end)
            axes.tick_params(labelbottom=True)
    panels[1, 0].set_ylim(0, 1.05 * _largest(cubes))
    legend_below(figure, panels)
    for axes in panels[:, 1]:
        axes.set_ylabel("")
    return figure


def _largest(cubes):
    """The largest generalisation error of the theory."""
    return max(float(cube[name].max()) for cube in cubes.values() for name in ("error_bayes", "error_plug_in"))
