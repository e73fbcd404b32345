"""Softmax attention towards small width."""

from attention_limits.attention_indexed.figures.papers.widths import draw_small_width
from attention_limits.plotting import house_style, legend_below


@house_style
def draw(cubes):
    """From the cube fig5_small_width; in the limit, learning begins at the first mark and the recovery is exact at the second."""
    cube = cubes["fig5_small_width"]
    weak = float(cube.weak_threshold.max())
    marks = [
        (weak, rf"$\bar\alpha = {weak:g}$, learning begins", True),
        (2 * weak, rf"$\bar\alpha = {2 * weak:g}$, exact recovery", False),
    ]
    figure, *panels = draw_small_width(cube, False, marks)
    legend_below(figure, panels)
    return figure
