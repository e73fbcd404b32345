"""Steps to learn a square target against the number of tokens: trace of attention and a network with the square as activation."""

from attention_limits.plotting import GREEN, KEY, NARROW, ORANGE, house_style, legend_below, new_figure
from attention_limits.sequence_single_index.figures.public.lengths import draw_medians

STUDENTS = {
    "trace_attention": ("trace of attention", GREEN),
    "square_network": ("square of the mean field, untied", ORANGE),
}


@house_style
def draw(cubes):
    """Medians and flows from the cubes trace_attention and square_network."""
    figure, axes = new_figure(1, 1, NARROW, 3.8)
    for name, (label, color) in STUDENTS.items():
        draw_medians(axes, cubes[name], color, label)
    tokens = cubes["trace_attention"].tokens.values
    axes.plot([], [], "--", color=KEY, linewidth=1.0, label=r"limit $d \to \infty$")
    axes.set(xscale="log", yscale="log", xlabel="tokens $M$", ylabel="steps until the student has learned")
    axes.set_xticks(tokens, [f"{n}" for n in tokens])
    axes.set_xticks([], minor=True)
    legend_below(figure, axes, ncols=2)
    return figure
