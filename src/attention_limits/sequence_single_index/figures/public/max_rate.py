"""Overlap after a fixed number of steps against the learning rate: the largest stable rate of tied and untied weights."""

from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import MIDDLE, house_style, legend_below, new_figure, ordered_colors, points
from attention_limits.sequence_single_index.figures.shared import STUDENTS


@house_style
def draw(cubes):
    """A panel for each student, from the cubes max_rate_tied and max_rate_untied."""
    figure, panels = new_figure(1, 2, MIDDLE, 4.0, sharey=True)
    for axes, student in zip(panels, STUDENTS, strict=True):
        cube = cubes[f"max_rate_{student}"].isel(dimension=0)
        for length, color in zip(cube.tokens.values, ordered_colors(cube.tokens.values, logarithmic=True), strict=True):
            part = cube.sel(tokens=length)
            size = part.semantic_size.transpose("learning_rate", "replica").values
            # One step counts for L tokens: the rate of all of them.
            rate = part.learning_rate.values * (length if student == "tied" else 1.0)
            points(axes, rate, size, None, color, f"$L = {length}$")
        label = r"$\gamma L$" if student == "tied" else r"$\gamma$"
        axes.set(xscale="log", xlabel=f"learning rate {label}", title=f"{student} weights", ylim=(-0.03, 1.03))
    steps = specifications(cubes["max_rate_tied"])["link_sgd"]["solver"]["steps"]
    panels[0].set(ylabel=f"overlap with the teacher after {steps} steps")
    legend_below(figure, panels[0])
    return figure
