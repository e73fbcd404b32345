"""Linear attention of two tokens, for several widths."""

from attention_limits.attention_indexed.figures.papers.widths import draw_two_panels, largest_excess


def draw(cubes):
    """From the cube fig3_linear."""
    return draw_two_panels(cubes["fig3_linear"])


def numbers(cubes):
    """By how much the error of AMP lies above the theory at most, and where."""
    return largest_excess(cubes["fig3_linear"])
