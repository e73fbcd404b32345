"""Steps to learn one token among M against M, for tied and untied weights at two learning rates."""

from attention_limits.plotting import KEY, MIDDLE, house_style, legend_below, new_figure
from attention_limits.sequence_single_index.figures.public.lengths import draw_medians
from attention_limits.sequence_single_index.figures.shared import STUDENTS


@house_style
def draw(cubes):
    """A panel for each learning rate, from the cubes direction_tied and direction_untied."""
    rates = cubes["direction_tied"].learning_rate.values
    figure, panels = new_figure(1, len(rates), MIDDLE, 3.8, sharex=True, squeeze=False)
    for axes, rate in zip(panels[0], rates, strict=True):
        for student, color in STUDENTS.items():
            draw_medians(axes, cubes[f"direction_{student}"].sel(learning_rate=rate), color, f"{student} weights")
        tokens = cubes["direction_tied"].tokens.values
        axes.set(xscale="log", yscale="log", xlabel="tokens $M$", title=rf"learning rate $\gamma = {rate:g}$")
        axes.set_xticks(tokens, [f"{n}" for n in tokens])
        axes.set_xticks([], minor=True)
    panels[0, 0].plot([], [], "--", color=KEY, linewidth=1.0, label=r"limit $d \to \infty$")
    panels[0, 0].set(ylabel="steps until the student has learned")
    legend_below(figure, panels[0])
    return figure
