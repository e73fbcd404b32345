"""Overlap against SGD steps for a staircase of three tokens among M."""

from attention_limits.plotting import MIDDLE, house_style, legend_below, new_figure, ordered_colors
from attention_limits.sequence_single_index.figures.public.differences import draw_paths
from attention_limits.sequence_single_index.figures.shared import STUDENTS


@house_style
def draw(cubes):
    """A panel for each student, from the cubes staircase_tied and staircase_untied."""
    figure, panels = new_figure(1, 2, MIDDLE, 3.8, sharex=True)
    for axes, student in zip(panels, STUDENTS, strict=True):
        cube = cubes[f"staircase_{student}"].isel(dimension=0)
        for length, color in zip(cube.tokens.values, ordered_colors(cube.tokens.values, logarithmic=True), strict=True):
            draw_paths(axes, cube.sel(tokens=length), color, f"$M = {length}$")
        axes.set(xscale="log", xlabel="SGD steps", title=f"{student} weights", ylim=(0, 1.03))
    panels[0].set(ylabel=r"overlap with the teacher, $(\Sigma_l m_l^2 / M)^{1/2}$")
    legend_below(figure, panels[0])
    return figure


def numbers(cubes):
    """Overlaps after the last step, means over the runs, at the fewest and the most tokens; the runs."""
    tied = cubes["staircase_tied"]
    found = {"runs": float(tied.sizes["replica"]), "fewest": float(tied.tokens[0]), "most": float(tied.tokens[-1])}
    for student in STUDENTS:
        last = cubes[f"staircase_{student}"].isel(dimension=0).semantic_size_trajectory.isel(step=-1).mean("replica")
        found |= {f"{student}_{end}": float(last.isel(tokens=place)) for end, place in (("few", 0), ("many", -1))}
    return found
