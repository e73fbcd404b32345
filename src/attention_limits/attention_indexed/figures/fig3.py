"""Linear attention of two tokens, for several widths."""

from attention_limits.attention_indexed.figures.widths import draw_widths
from attention_limits.plotting import house_style, new_figure


@house_style
def draw(cubes):
    """From the cube fig3_linear."""
    figure, axes = new_figure(1, 1, 5.2, 3.8)
    draw_widths(axes, cubes["fig3_linear"])
    axes.legend(loc="upper right")
    return figure
