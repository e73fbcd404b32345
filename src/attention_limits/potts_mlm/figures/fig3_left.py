"""Errors of ridge regression on masked Gaussian sequences: replica theory and simulation."""

import numpy as np

from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import (
    COLORS,
    KEY,
    WIDE,
    house_style,
    legend_below,
    new_figure,
    points,
    realised_alpha,
)
from attention_limits.potts_mlm.figures.shared import ridge_colors, root_mean_square, z_scores

# Squared errors below this are rounding errors.
ROUNDING = 1e-12


@house_style
def draw(cubes):
    """One column per gamma from the cube fig3_left: generalisation (top) and training error (bottom)."""
    cube = cubes["fig3_left"]
    sites = specifications(cube)["ridge_simulation"]["solver"]["sites"]
    figure, rows = new_figure(2, len(cube.gamma), WIDE, 6.0, sharex=True, sharey="row", squeeze=False)
    for gamma, column in zip(cube.gamma.values, rows.T, strict=True):
        part = cube.sel(gamma=gamma)
        for axes, kind in zip(column, ("generalization", "training"), strict=True):
            for ridge, color in zip(part.ridge.values, ridge_colors(part.ridge.values), strict=True):
                one = part.sel(ridge=ridge)
                theory = one[f"{kind}_error"].mean("replica").dropna("alpha")
                # At the divergence the theory is infinite: the line has a gap.
                finite = np.where(np.isfinite(theory), theory, np.nan)
                axes.plot(theory.alpha, finite, color=color, label=rf"$\lambda = {ridge:g}$")
                simulated = one[f"simulated_{kind}_error"].dropna("alpha", how="all").transpose("alpha", "replica")
                if simulated.size:
                    values = simulated.values
                    # Without ridge the training error below alpha = 1 is zero up to rounding.
                    values = np.where(values < ROUNDING, np.nan, values)
                    points(axes, realised_alpha(one, simulated.alpha), values, np.ones(values.shape), color, None)
        # e_g = D (1 + 1 / alpha) + O(1 / alpha^2), D = 1 / gamma, for every fixed ridge.
        law = theory.alpha.values[theory.alpha.values >= 1.0]
        column[0].plot(law, (1.0 + 1.0 / law) / gamma, color=KEY, linestyle=":", label=r"$(1 + 1/\alpha) / \gamma$")
        best = part.isel(ridge=0).optimal_error.mean("replica").dropna("alpha")
        column[0].plot(best.alpha, best, color=COLORS["best"], linestyle="--", label=r"best $\lambda$ at each $\alpha$")
        column[0].set_title(rf"$\gamma = {gamma:g}$")
        column[1].set_xlabel(r"samples per input $\alpha = M/(L-1)$")
    rows[0][0].set(ylabel="test error", yscale="log", ylim=(0.2, 20))
    rows[1][0].set(ylabel="training error", ylim=(0, 0.45), xlim=(0, float(cube.alpha.max())))
    rows[0][0].plot([], [], "o", color=KEY, markersize=4, label=f"simulation, $L = {sites}$")
    legend_below(figure, rows[0][0])
    return figure


def numbers(cubes):
    """Root mean squares of the z-scores of the points, for test and training error; rounding errors of the latter have none."""
    cube, found = cubes["fig3_left"], {}
    for name, kind in (("test", "generalization"), ("training", "training")):
        simulated = cube[f"simulated_{kind}_error"].dropna("alpha", how="all")
        scores = z_scores(simulated.where(simulated >= ROUNDING), cube[f"{kind}_error"])
        found[name] = root_mean_square(scores)
    return found
