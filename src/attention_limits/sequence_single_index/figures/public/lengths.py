"""Steps to learn against the number of tokens, for linear and square targets and both starts."""

import numpy as np
from matplotlib.ticker import LogFormatterSciNotation, LogLocator

from attention_limits.numerics.probability.power_laws import median_and_range
from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import KEY, MIDDLE, house_style, legend_below, lower_bounds, new_figure
from attention_limits.sequence_single_index.figures.shared import STUDENTS

# Marker and place of each start, beside each other.
STARTS = {"overlapped": ("o", 0.97), "random": ("s", 1.03)}
STARTS_NAMES = {"overlapped": "equal overlaps", "random": "random start"}
TARGETS = {"linear": r"$\Sigma_l z_l / \sqrt{M}$", "square": r"$\Sigma_l \mathrm{He}_2(z_l) / \sqrt{2}$"}


@house_style
def draw(cubes):
    """A panel for each target, from the cubes lengths_*."""
    figure, panels = new_figure(1, 2, MIDDLE, 4.2, sharex=True)
    for axes, (target, formula) in zip(panels, TARGETS.items(), strict=True):
        for student in STUDENTS:
            for start, (marker, aside) in STARTS.items():
                cube, label = cubes[f"lengths_{target}_{student}_{start}"], f"{student} weights, {STARTS_NAMES[start]}"
                draw_medians(axes, cube, STUDENTS[student], label, marker, aside)
        (part,) = specifications(cubes[f"lengths_{target}_tied_random"]).values()
        dimension = (part["grid"].get("dimension") or [part["model"]["dimension"]])[0]
        token_axes(axes, cubes[f"lengths_{target}_tied_random"].tokens.values)
        axes.set(title=f"target {formula}, $d = {dimension:g}$")
    panels[0].plot([], [], "--", color=KEY, linewidth=1.0, label=r"limit $d \to \infty$")
    panels[0].set(ylabel="steps until the student has learned")
    legend_below(figure, panels, ncols=2)
    return figure


def numbers(cubes):
    """By which factor the median steps from equal overlaps grow from the fewest to the most tokens; these numbers of tokens."""
    tokens = cubes["lengths_linear_tied_overlapped"].tokens
    found = {
        f"{target}_{student}": growth(cubes[f"lengths_{target}_{student}_overlapped"])
        for target in TARGETS
        for student in STUDENTS
    }
    return {"fewest": float(tokens[0]), "most": float(tokens[-1])} | found


def growth(cube):
    """Ratio of the median steps at the most and at the fewest tokens; NaN where half of the runs go on."""
    median = medians(cube)[1]
    return float(median[-1] / median[0]) if np.isfinite(median[[0, -1]]).all() else np.nan


def medians(cube):
    """Numbers of tokens, median steps and the ends of their range, arrays (tokens,), and steps (tokens, replica).

    Infinite where half of the runs go on.
    """
    cube = cube.squeeze([name for name in ("dimension", "learning_rate_exponent") if name in cube.dims])
    steps, escaped = (cube[name].transpose("tokens", "replica").values for name in ("escape_step", "escaped"))
    return cube.tokens.values, *median_and_range(steps, escaped), steps


def draw_medians(axes, cube, color, label, marker="o", aside=1.0):
    """Medians of the runs with their range by the number of tokens, times `aside`, and the flow.

    Arrows where at least half of the runs go on.
    """
    tokens, median, low, high, steps = medians(cube)
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
    flow = cube.flow_step.isel(replica=0).values.ravel()
    axes.plot(tokens, np.where(np.isfinite(flow), flow, np.nan), "--", color=color, linewidth=1.0)


def token_axes(axes, tokens):
    """Logarithmic axes of steps against tokens: a tick at each number of tokens, and few ticks of the steps."""
    axes.set(xscale="log", yscale="log", xlabel="tokens $M$")
    axes.set_xticks(tokens, [f"{n}" for n in tokens])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(LogFormatterSciNotation(minor_thresholds=(np.inf, np.inf)))
    axes.yaxis.set_minor_formatter("")
