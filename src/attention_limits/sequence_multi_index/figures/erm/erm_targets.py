"""Semantic solution of empirical risk minimisation for both positional targets of Cui et al. 2024."""

import itertools

import numpy as np

from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    BLUE,
    GREEN,
    KEY,
    WIDE,
    curve,
    house_style,
    legend_below,
    new_figure,
    points,
    present,
    published_points,
    realised_alpha,
    say_why,
    sound_mean,
)
from attention_limits.sequence_multi_index.figures.papers import published
from attention_limits.sequence_multi_index.figures.shared import DOUBTFUL

# Colour and published curve of each cube.
TARGETS = {
    "erm_semantic": (BLUE, published.PSL_TARGET),
    "erm_semantic_other": (GREEN, published.PSL_OTHER_TARGET),
}
# Panels: variable and label, in the order of the columns of the published curves.
PANELS = {
    "overlap": r"overlap with the target $w \cdot w^*/D$",
    "susceptibility": r"susceptibility $V/\sigma^2$",
    "test_loss": r"error on fresh data $\epsilon_\ell$",
}


@house_style
def draw(cubes):
    """Overlap, susceptibility and error, from the cubes erm_semantic and erm_semantic_other."""
    figure, panels = new_figure(1, 3, WIDE, 3.8)
    for name, (color, curves) in TARGETS.items():
        theory, fits = (cubes[name].sel(estimator=f"erm_{method}") for method in ("state_evolution", "minimisation"))
        label, sure = _target(cubes[name]), passed(theory, "overlap")
        for column, (axes, variable) in enumerate(zip(panels, PANELS, strict=True), start=1):
            shown = present(_only(theory[variable]))
            alpha = shown.alpha.values
            curve(axes, alpha, abs(shown).values, color, label, flags=sure.sel(alpha=shown.alpha).values)
            if variable != "susceptibility":
                simulated = present(_only(fits[variable]))
                reached = passed(fits, "overlap").sel(alpha=simulated.alpha).values
                points(axes, realised_alpha(fits, simulated.alpha), abs(simulated).values, reached, color, None)
            published_points(axes, curves[:, 0], curves[:, column], color=color)
    panels[0].plot([], [], "o", color=KEY, markersize=4, label="L-BFGS")
    published_points(panels[0], [], [], label="published")
    for axes, label in zip(panels, PANELS.values(), strict=True):
        axes.set(xlabel=r"samples per dimension $\alpha = n/D$", ylabel=label, ylim=(0, None))
    say_why(panels, DOUBTFUL)
    legend_below(figure, panels[0], ncols=5)
    return figure


def _target(cube):
    """omega and A of a cube."""
    model = specifications(cube)["erm_state_evolution"]["model"]
    rows = ", ".join("(" + ", ".join(f"{value:g}" for value in row) + ")" for row in model["positional"])
    return rf"$\omega = {model['omega']:g}$, $A = ({rows})$"


def _only(array):
    """The only row of an array (alpha, replica, ...); the sign of a tied layer is free."""
    return array.isel({dim: 0 for dim in array.dims if dim not in ("alpha", "replica")})


def numbers(cubes):
    """The largest distance of a data point from its line, overlap or error, in standard errors; its alpha; its data sets."""
    found = {"off": np.nan, "off_alpha": np.nan, "sets": np.nan}
    for name, variable in itertools.product(TARGETS, ("overlap", "test_loss")):
        lines, fits = (cubes[name].sel(estimator=f"erm_{method}") for method in ("state_evolution", "minimisation"))
        (theory, own), (simulated, scatter) = (
            sound_mean(abs(_only(part[variable])).transpose("alpha", "replica"), passed(part, "overlap"))[:2]
            for part in (lines, fits)
        )
        distance = np.abs(simulated - theory) / np.hypot(own, scatter)
        if np.isfinite(distance).any() and not found["off"] >= np.nanmax(distance):
            place = int(np.nanargmax(distance))
            sets = passed(fits, "overlap").sel(alpha=cubes[name].alpha[place]).sum()
            found = {"off": distance[place], "off_alpha": cubes[name].alpha[place], "sets": sets}
    return {key: float(value) for key, value in found.items()}
