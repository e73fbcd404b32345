"""Errors and free entropies of all solutions for outputs that hide the sign of a score."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import ESTIMATION, SAMPLES
from attention_limits.plotting import COLORS, HARD_COLOR, MIDDLE, house_style, legend_below, new_figure

_CUBES = {
    "phases_size": r"$y = |h_{12}| + \sqrt{0.01}\,Z$",
    "phases_shifted_size": r"$y = |h_{12} + 0.3| + \sqrt{0.01}\,Z$",
}


@house_style
def draw(cubes):
    """Above the error, below the free entropy of each stable solution; one column for each cube."""
    figure, axes = new_figure(2, 2, MIDDLE, 6.0, sharex="col")
    for column, (name, title) in zip(axes.T, _CUBES.items(), strict=True):
        cube = cubes[name].isel(replica=0)
        ends = [float(cube[key].max()) for key in ("information_theoretic_threshold", "algorithmic_threshold")]
        for panel in column:
            if np.all(np.isfinite(ends)):
                panel.axvspan(*ends, color=HARD_COLOR, linewidth=0, zorder=0)
        _errors(column[0], cube, title)
        _entropies(column[1], cube)
    axes[0, 0].set_ylabel(ESTIMATION)
    axes[1, 0].set_ylabel("free entropy minus that without data, / $d^2$")
    axes[0, 0].plot([], [], color="0.75", linewidth=4, label="all stable solutions")
    axes[0, 0].fill_between([], [], [], color=HARD_COLOR, label="hard phase")
    legend_below(figure, axes[:, 0], ncols=3)
    return figure


def numbers(cubes):
    """Both thresholds of the hard phase, of each output."""
    ends = {"optimal": "information_theoretic_threshold", "reached": "algorithmic_threshold"}
    return {
        f"{end}_{number}": float(cubes[name][key].max())
        for number, name in enumerate(_CUBES, 1)
        for end, key in ends.items()
    }


def _errors(axes, cube, title):
    for branch in cube.branch.values:
        axes.plot(*_sides(cube.alpha, cube.mmse_by_branch.sel(branch=branch)), color="0.75", linewidth=4)
    axes.plot(*_sides(cube.alpha, cube.mmse), color=COLORS["uninformed"], label="message passing, uninformed start")
    best = cube.mmse_bayes.where(cube.decided == 1)
    axes.plot(*_sides(cube.alpha, best), color=COLORS["bayes"], linestyle="--", label="Bayes-optimal")
    axes.set(title=title, yscale="log", ylim=(5e-3, 1.5))


def _sides(alpha, values):
    """Both arrays with a gap between the two sides of a jump, a change by a factor of two."""
    jumps = np.flatnonzero(np.abs(np.diff(np.log(values))) > np.log(2.0)) + 1
    return np.insert(alpha.values, jumps, np.nan), np.insert(values.values, jumps, np.nan)


def _entropies(axes, cube):
    """Solutions that message passing reaches are of the uninformed branch; beside them the others are of the informed one."""
    # The line of message passing, the uninformed start, has its entry above.
    starts = {"uninformed": None, "informed": "informed start"}
    for branch, (start, label) in enumerate(starts.items(), 1):
        color = COLORS[start]
        values = cube.free_entropy_by_branch.sel(branch=branch).where(cube.solutions > 1)
        error = cube.free_entropy_by_branch_error.sel(branch=branch)
        axes.plot(cube.alpha, values, color=color, label=label)
        axes.fill_between(cube.alpha, values - error, values + error, color=color, alpha=0.3, linewidth=0)
    axes.axhline(0.0, color="0.6", linewidth=0.6)
    axes.set(xlabel=SAMPLES, ylim=(-0.008, 0.022))
