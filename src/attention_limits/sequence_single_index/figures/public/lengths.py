"""Steps to learn against the number of tokens, for linear and square targets and both starts."""

import numpy as np

from attention_limits.numerics.probability.power_laws import median_and_range
from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import KEY, MIDDLE, house_style, legend_below, lower_bounds, new_figure
from attention_limits.sequence_single_index.figures.shared import STUDENTS

# Marker and place of each start, beside each other.
STARTS = {"overlapped": ("o", 0.97), "random": ("s", 1.03)}
TARGETS = {"linear": r"$\Sigma_l z_l / \sqrt{M}$", "square": r"$\Sigma_l \mathrm{He}_2(z_l) / \sqrt{2}$"}


@house_style
def draw(cubes):
    """A panel for each target, from the cubes lengths_*."""
    figure, panels = new_figure(1, 2, MIDDLE, 4.2, sharex=True)
    for axes, (target, formula) in zip(panels, TARGETS.items(), strict=True):
        for student in STUDENTS:
            for start, (marker, aside) in STARTS.items():
                cube, label = cubes[f"lengths_{target}_{student}_{start}"], f"{student} weights, {start} start"
                draw_medians(axes, cube, STUDENTS[student], label, marker, aside)
        (part,) = specifications(cubes[f"lengths_{target}_tied_random"]).values()
        dimension = (part["grid"].get("dimension") or [part["model"]["dimension"]])[0]
        axes.set(xscale="log", yscale="log", xlabel="tokens $M$", title=f"target {formula}, $d = {dimension:g}$")
        axes.set_xticks(tokens := cubes[f"lengths_{target}_tied_random"].tokens.values, [f"{n}" for n in tokens])
        axes.set_xticks([], minor=True)
    panels[0].plot([], [], "--", color=KEY, linewidth=1.0, label=r"limit $d \to \infty$")
    panels[0].set(ylabel="steps until the student has learned")
    legend_below(figure, panels, ncols=2)
    return figure


def draw_medians(axes, cube, color, label, marker="o", aside=1.0):
    """Medians of the runs with their range by the number of tokens, times `aside`, and the flow.

    Arrows where at least half of the runs go on.
    """
    cube = cube.squeeze([name for name in ("dimension", "learning_rate_exponent") if name in cube.dims])
    tokens, steps = cube.tokens.values, cube.escape_step.transpose("tokens", "replica").values
    median, low, high = median_and_range(steps, cube.escaped.transpose("tokens", "replica").values)
    known = np.isfinite(median)
    # A range whose upper end is censored has no bar above.
    end = np.where(np.isfinite(high), high, median)[known]
    axes.errorbar(
        aside * tokens[known], median[known], [median[known] - low[known], end - median[known]], fmt=marker, color=color,
        markersize=4, capsize=2, elinewidth=1, label=label,
    )  # fmt: skip
    if not known.all():
        lower_bounds(
            axes, aside * tokens[~known], steps.max(axis=1)[~known], color, "lower bound: the length of the runs"
        )
    flow = cube.flow_step.isel(replica=0).values
    axes.plot(tokens, np.where(np.isfinite(flow), flow, np.nan), "--", color=color, linewidth=1.0)
