"""Softmax attention of two tokens, for several widths."""

from attention_limits.attention_indexed.figures.papers.published import SOFTMAX_CURVES
from attention_limits.attention_indexed.figures.papers.widths import draw_two_panels
from attention_limits.attention_indexed.figures.shared import threshold


def draw(cubes):
    """From the cube fig2_left_softmax; crosses are the published state evolution."""
    return draw_two_panels(cubes["fig2_left_softmax"], SOFTMAX_CURVES)


def numbers(cubes):
    """Exact recovery at the width nearest to d / 2."""
    cube = cubes["fig2_left_softmax"]
    ratio = float(cube.ratio.sel(ratio=0.5, method="nearest"))
    return {"ratio": ratio, "recovery": threshold(cube, ratio)}
