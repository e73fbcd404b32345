"""Steps to learn one token among M against M, for tied and untied weights at two learning rates."""

import numpy as np

from attention_limits.plotting import KEY, MIDDLE, house_style, legend_below, new_figure
from attention_limits.sequence_single_index.figures.public.lengths import draw_medians, growth, token_axes
from attention_limits.sequence_single_index.figures.shared import STUDENTS


@house_style
def draw(cubes):
    """A panel for each learning rate, from the cubes direction_tied and direction_untied."""
    rates = cubes["direction_tied"].learning_rate.values
    figure, panels = new_figure(1, len(rates), MIDDLE, 3.8, sharex=True, squeeze=False)
    for axes, rate in zip(panels[0], rates, strict=True):
        for student, color in STUDENTS.items():
            draw_medians(axes, cubes[f"direction_{student}"].sel(learning_rate=rate), color, f"{student} weights")
        token_axes(axes, cubes["direction_tied"].tokens.values)
        axes.set(title=rf"learning rate $\gamma = {rate:g}$")
    panels[0, 0].plot([], [], "--", color=KEY, linewidth=1.0, label=r"limit $d \to \infty$")
    panels[0, 0].set(ylabel="steps until the student has learned")
    legend_below(figure, panels[0])
    return figure


def numbers(cubes):
    """By which factor the median steps grow from the fewest to the most tokens; at the larger rate of tied weights alone."""
    tokens, rates = (cubes["direction_tied"][key].values for key in ("tokens", "learning_rate"))
    tied, untied = (cubes[f"direction_{student}"] for student in STUDENTS)
    return {
        "most": float(tokens[-1]), "root": float(np.sqrt(tokens[-1] / tokens[0])),
        "small_tied": growth(tied.sel(learning_rate=rates.min())),
        "small_untied": growth(untied.sel(learning_rate=rates.min())),
        "large_tied": growth(tied.sel(learning_rate=rates.max())),
    }  # fmt: skip
