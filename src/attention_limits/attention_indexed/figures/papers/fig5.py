"""Softmax attention towards small width."""

from attention_limits.attention_indexed.figures.papers.widths import draw_small_width
from attention_limits.plotting import house_style


@house_style
def draw(cubes):
    """From the cube fig5_small_width; in the limit, learning begins at the first mark and the recovery is exact at the second."""
    cube = cubes["fig5_small_width"]
    weak = float(cube.weak_threshold.max())
    figure, axes = draw_small_width(
        cube, False, [(weak, rf"$\bar\alpha = {weak:g}$"), (2 * weak, rf"$\bar\alpha = {2 * weak:g}$")]
    )
    # Beside the second mark.
    axes.legend(loc="upper left", bbox_to_anchor=(0.85, 1.0))
    return figure
