"""Positional against semantic solution of empirical risk minimisation, in the manner of Cui et al. 2024."""

import numpy as np

from attention_limits.pipeline.cubes.readings import at, passed, specifications
from attention_limits.plotting import (
    COLORS,
    GREEN,
    KEY,
    MIDDLE,
    curve,
    house_style,
    legend_below,
    new_figure,
    points,
    present,
    published_points,
    realised_alpha,
    say_why,
)
from attention_limits.sequence_multi_index.figures.papers import published
from attention_limits.sequence_multi_index.figures.shared import DOUBTFUL

CONSTANT = "0.5"
OVERLAPS = {"semantic": "overlap", "positional": "position_overlap"}
EXPERIMENTS = {"semantic": published.PSL_SEMANTIC, "positional": published.PSL_POSITIONAL}
# Colour, label and published values of each criterion.
CRITERIA = {
    "energy": (COLORS["bayes"], r"$\alpha_c$: equal objectives", published.PSL_ENERGY),
    "constant": (GREEN, r"$\alpha_l$: best constant output beaten", published.PSL_CONSTANT),
}
# The number of `erm.state_evolution`, which a figure does not import; a test compares both.
MAX_JUMP = 0.05


@house_style
def draw(cubes):
    """Overlaps, objectives, errors and transitions, from the cubes erm_semantic, erm_positional and erm_transitions."""
    figure, ((overlaps, objectives), (errors, phases)) = new_figure(2, 2, MIDDLE, 6.6)
    for branch, experiments in EXPERIMENTS.items():
        cube, color = cubes[f"erm_{branch}"], COLORS[branch]
        panels = ((overlaps, OVERLAPS[branch]), (objectives, "objective"), (errors, "test_loss"))
        for column, (axes, variable) in enumerate(panels, start=1):
            _draw_branch(axes, cube, variable, color, branch)
            published_points(axes, experiments[:, 0], experiments[:, column], color=color)
    transitions = cubes["erm_transitions"]
    omega = specifications(cubes["erm_semantic"])["erm_state_evolution"]["model"]["omega"]
    if np.any(np.isclose(transitions.omega, omega)):
        constant = float(at(transitions.constant_loss, omega=omega).mean("replica"))
        errors.axhline(constant, color=CONSTANT, linestyle=":", label="best constant output")
    _draw_transitions(phases, transitions)
    errors.plot([], [], "o", color=KEY, markersize=4, label="L-BFGS")
    published_points(errors, [], [], label="published")
    overlaps.set(ylabel="overlap with the target or the positions", ylim=(0, 0.75))
    objectives.set(ylabel="training objective $e$", ylim=(0, None))
    errors.set(ylabel=r"error on fresh data $\epsilon_\ell$", ylim=(0, None))
    for axes in (overlaps, objectives, errors):
        axes.set(xlabel=r"samples per dimension $\alpha = n/D$")
    say_why((overlaps, objectives, errors, phases), DOUBTFUL)
    legend_below(figure, (errors, phases), ncols=3)
    return figure


def _draw_branch(axes, cube, variable, color, label):
    """State evolution as a line, and L-BFGS as points."""
    theory, fits = cube.sel(estimator="erm_state_evolution"), cube.sel(estimator="erm_minimisation")
    sure = passed(theory, variable)
    shown = present(_single(theory[variable]))
    curve(axes, shown.alpha.values, abs(shown).values, color, label, flags=sure.sel(alpha=shown.alpha).values)
    simulated = present(_single(fits[variable]))
    reached = passed(fits, variable).sel(alpha=simulated.alpha).values
    points(axes, realised_alpha(fits, simulated.alpha), abs(simulated).values, reached, color, None)


def _single(array):
    """The only row and direction of an array (alpha, replica, ...); the sign of a tied layer is free."""
    return array.isel({dim: 0 for dim in array.dims if dim not in ("alpha", "replica")})


def _draw_transitions(axes, cube):
    """Transitions against omega, and the published ones."""
    for criterion, (color, label, theirs) in CRITERIA.items():
        here = cube.sel(criterion=criterion)
        values = here.transition.transpose("omega", "replica").values
        jumps = here.transition_jump_index.transpose("omega", "replica").values
        points(axes, cube.omega.values, values, np.where(np.isfinite(values), jumps <= MAX_JUMP, np.nan), color, label)
        published_points(axes, theirs[:, 0], theirs[:, 1], color=color)
    axes.set(xlabel=r"weight $\omega$ of the positional part", ylabel=r"samples per dimension $\alpha$", ylim=(0, None))


def numbers(cubes):
    """omega of the curves, the alpha above which the semantic solution has the smaller objective there, flagged or not, and the
    jump index at this alpha.
    """
    omega = specifications(cubes["erm_semantic"])["erm_state_evolution"]["model"]["omega"]
    here = cubes["erm_transitions"].sel(criterion="energy").sel(omega=omega, method="nearest")
    return {
        "omega": omega,
        "crossing": float(here.transition.mean("replica")),
        "jump": float(here.transition_jump_index.mean("replica")),
    }
