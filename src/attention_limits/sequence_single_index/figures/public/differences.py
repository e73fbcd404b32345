"""Overlap against SGD steps for targets that are a difference of two tokens."""

from attention_limits.plotting import MIDDLE, house_style, legend_below, new_figure
from attention_limits.sequence_single_index.figures.shared import STUDENTS

TARGETS = {"linear": r"$z_1 - z_2$", "square": r"$(z_1^2 - z_2^2) / \sqrt{2}$"}


@house_style
def draw(cubes):
    """A panel for each target, all runs and their mean, from the cubes difference_*."""
    figure, panels = new_figure(1, 2, MIDDLE, 3.8, sharey=True)
    for axes, (target, formula) in zip(panels, TARGETS.items(), strict=True):
        for student, color in STUDENTS.items():
            draw_paths(axes, cubes[f"difference_{target}_{student}"].isel(dimension=0), color, f"{student} weights")
        axes.set(xscale="log", xlabel="SGD steps", title=f"target {formula}", ylim=(0, 0.5))
    panels[0].set(ylabel=r"overlap with the teacher, $(\Sigma_l m_l^2 / M)^{1/2}$")
    legend_below(figure, panels[0])
    return figure


def numbers(cubes):
    """Overlaps of both students after the last step, means over the runs, for each target."""
    return {
        f"{target}_{student}": float(
            cubes[f"difference_{target}_{student}"].isel(dimension=0, step=-1).semantic_size_trajectory.mean()
        )
        for target in TARGETS
        for student in STUDENTS
    }


def draw_paths(axes, cube, color, label):
    """The overlap of each run as a thin line, and their mean."""
    runs = cube.semantic_size_trajectory.transpose("replica", "step")
    axes.plot(runs.step[1:], runs[:, 1:].T, color=color, linewidth=0.4, alpha=0.5)
    axes.plot(runs.step[1:], runs[:, 1:].mean("replica"), color=color, label=label)
