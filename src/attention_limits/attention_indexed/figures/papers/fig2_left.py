"""Softmax attention of two tokens, for several widths."""

from attention_limits.attention_indexed.figures.papers.published import SOFTMAX_CURVES
from attention_limits.attention_indexed.figures.papers.widths import draw_two_panels, largest_excess
from attention_limits.attention_indexed.figures.shared import threshold

# The largest width ratio of the layers that the caption calls narrow.
_NARROW = 0.3


def draw(cubes):
    """From the cube fig2_left_softmax; crosses are the published state evolution."""
    return draw_two_panels(cubes["fig2_left_softmax"], SOFTMAX_CURVES)


def numbers(cubes):
    """Exact recovery at the width nearest to d / 2, and how far AMP lies above the theory in the narrow layers."""
    cube = cubes["fig2_left_softmax"]
    ratio = float(cube.ratio.sel(ratio=0.5, method="nearest"))
    return {"ratio": ratio, "recovery": threshold(cube, ratio)} | largest_excess(cube, _NARROW)
