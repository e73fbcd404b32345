"""Softmax attention of two tokens, for several widths."""

from attention_limits.attention_indexed.figures.published import SOFTMAX_CURVES
from attention_limits.attention_indexed.figures.widths import draw_widths
from attention_limits.plotting import house_style, new_figure


@house_style
def draw(cubes):
    """From the cube fig2_left_softmax; crosses are the published state evolution."""
    figure, axes = new_figure(1, 1, 5.2, 3.8)
    draw_widths(axes, cubes["fig2_left_softmax"], SOFTMAX_CURVES)
    axes.legend(loc="upper right")
    return figure
