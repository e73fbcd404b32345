"""Softmax attention of four and of five tokens."""

from attention_limits.attention_indexed.figures.shared import model
from attention_limits.attention_indexed.figures.widths import draw_widths
from attention_limits.plotting import house_style, new_figure


@house_style
def draw(cubes):
    """One panel for each of the cubes fig4_tokens4 and fig4_tokens5."""
    figure, panels = new_figure(1, 2, 7.2, 3.4, sharey=True)
    for axes, name in zip(panels, ("fig4_tokens4", "fig4_tokens5"), strict=True):
        draw_widths(axes, cubes[name])
        axes.set_title(f"$T = {model(cubes[name], 'tokens')}$")
    panels[1].set_ylabel("")
    panels[1].legend(loc="upper right")
    return figure
