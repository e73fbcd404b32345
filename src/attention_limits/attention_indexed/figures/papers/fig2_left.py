"""Softmax attention of two tokens, for several widths."""

from attention_limits.attention_indexed.figures.papers.published import SOFTMAX_CURVES
from attention_limits.attention_indexed.figures.papers.widths import draw_outputs, draw_widths
from attention_limits.plotting import house_style, new_figure


@house_style
def draw(cubes):
    """From the cube fig2_left_softmax; crosses are the published state evolution."""
    cube = cubes["fig2_left_softmax"]
    figure, (left, right) = new_figure(1, 2, 8.8, 3.8)
    draw_widths(left, cube, SOFTMAX_CURVES)
    draw_outputs(right, cube)
    left.legend(loc="upper right")
    right.legend(loc="upper right")
    return figure
