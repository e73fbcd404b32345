"""Overlap after a fixed number of steps against the learning rate: the largest stable rate of tied and untied weights."""

import numpy as np

from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import MIDDLE, house_style, legend_below, new_figure, ordered_colors, points
from attention_limits.sequence_single_index.figures.shared import STUDENTS


@house_style
def draw(cubes):
    """A panel for each student, from the cubes max_rate_tied and max_rate_untied."""
    figure, panels = new_figure(1, 2, MIDDLE, 4.0, sharey=True)
    for axes, student in zip(panels, STUDENTS, strict=True):
        cube = cubes[f"max_rate_{student}"].isel(dimension=0)
        lengths = cube.tokens.values
        # Points of equal height stand beside each other.
        places = 1.06 ** (np.arange(len(lengths)) - 0.5 * (len(lengths) - 1))
        for length, color, aside in zip(lengths, ordered_colors(lengths, logarithmic=True), places, strict=True):
            part = cube.sel(tokens=length)
            size = part.semantic_size.transpose("learning_rate", "replica").values
            points(axes, aside * part.learning_rate.values, size, None, color, f"$M = {length}$")
        axes.set(xscale="log", xlabel=r"learning rate $\gamma$", title=f"{student} weights", ylim=(-0.03, 1.03))
    steps = specifications(cubes["max_rate_tied"])["link_sgd"]["solver"]["steps"]
    panels[0].set(ylabel=f"overlap with the teacher after {steps} steps")
    legend_below(figure, panels[0])
    return figure


def numbers(cubes):
    """Best learning rates at the most tokens (tied), and at the fewest and the most tokens (untied); the runs."""
    tied, untied = (_best_rates(cubes[f"max_rate_{student}"]) for student in STUDENTS)
    runs = float(cubes["max_rate_tied"].sizes["replica"])
    return {"tied": tied[-1], "first": untied[0], "last": untied[-1], "runs": runs}


def _best_rates(cube):
    """Vertex of the parabola through the highest mean overlap and its neighbours, in log(learning rate): array (tokens,).

    NaN where the highest mean is that of the smallest or the largest rate.
    """
    overlap = cube.isel(dimension=0).semantic_size.mean("replica").transpose("tokens", "learning_rate").values
    rate = np.log(cube.learning_rate.values)
    found = np.full(len(overlap), np.nan)
    for token, (best, row) in enumerate(zip(overlap.argmax(axis=1), overlap, strict=True)):
        if 0 < best < len(rate) - 1:
            near = slice(best - 1, best + 2)
            curvature, slope, _ = np.polyfit(rate[near], row[near], 2)
            found[token] = np.exp(-slope / (2.0 * curvature))
    return found
