"""Linear attention of two tokens, for several widths."""

from attention_limits.attention_indexed.figures.papers.widths import draw_two_panels


def draw(cubes):
    """From the cube fig3_linear."""
    return draw_two_panels(cubes["fig3_linear"])
