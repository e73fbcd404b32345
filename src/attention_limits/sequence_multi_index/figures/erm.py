"""Empirical risk minimisation of one attention layer beside the Bayes-optimal error."""

import numpy as np

from attention_limits.numerics.statistics import mean_and_error
from attention_limits.plotting import curve, house_style, new_figure, points, present, realised_alpha
from attention_limits.sequence_multi_index.readings import trusted

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
BEST, BAYES = "#000000", "#7f7f7f"
METHODS = {"erm_minimisation": ("L-BFGS", "o"), "erm_gamp": ("GAMP", "^")}


@house_style
def draw(cubes):
    """Error (left) and cosine with the target (right), from the cubes erm_one_layer and erm_one_layer_bounds."""
    cube, bounds = cubes["erm_one_layer"], cubes["erm_one_layer_bounds"]
    figure, (left, right) = new_figure(1, 2, 7.4, 3.8)
    for place, ridge in enumerate(cube.ridge.values):
        here = cube.sel(ridge=ridge, drop=True)
        _draw_theory(left, right, here.sel(estimator="erm_state_evolution"), COLORS[place], f"$\\lambda={ridge:g}$")
        for name, (method, marker) in METHODS.items():
            _draw_points(
                left, right, here.sel(estimator=name), COLORS[place], f"$\\lambda={ridge:g}$, {method}", marker
            )
    _draw_theory(left, right, bounds.sel(estimator="erm_optimal_ridge"), BEST, "best $\\lambda \\geq 10^{-3}$")
    _draw_bayes(left, right, bounds.sel(estimator="state_evolution"))
    largest = float(cube.alpha.max())
    left.set(ylabel="generalisation error", yscale="log", ylim=(1e-3, 1))
    right.set(ylabel=r"cosine with the target, $m/\sqrt{q}$", ylim=(0, 1.05))
    for axes in (left, right):
        axes.set(xlabel=r"samples per dimension $\alpha = n/D$", xlim=(0, 1.03 * largest))
    right.legend(loc="lower right", fontsize=6.5)
    return figure


def _cosine(part, norm=1.0):
    """Cosine of the layer of the student with that of the target, (alpha, replica)."""
    m, q = part.overlap.isel(layer=0, layer_star=0), part.student_norm.isel(layer=0, layer_other=0)
    # The sign of a tied layer is free.
    return abs(m) / np.sqrt(q * norm)


def _draw_theory(left, right, theory, color, label):
    """State evolution as lines, with an open square where it has not converged or replica symmetry is doubtful."""
    sure = trusted(theory)
    for axes, values in ((left, theory.error_plug_in), (right, _cosine(theory))):
        shown = present(values)
        curve(axes, shown.alpha.values, shown.values, color, label, converged=sure.sel(alpha=shown.alpha).values)


def _draw_points(left, right, part, color, label, marker):
    norm = part.target_norm.isel(layer_star=0, layer_star_other=0)
    for axes, values in ((left, part.error_plug_in), (right, _cosine(part, norm))):
        shown = present(values)
        if shown.size:
            reached = part.converged.sel(alpha=shown.alpha).values
            points(axes, realised_alpha(part, shown.alpha), shown.values, reached, color, label, marker)


def _draw_bayes(left, right, theory):
    error = present(theory.error_bayes)
    left.plot(error.alpha, mean_and_error(error.values, axis=1)[0], color=BAYES, linestyle="-.")
    overlap = present(theory.overlap.isel(layer=0, layer_star=0)).mean("replica")
    right.plot(overlap.alpha, np.sqrt(overlap), color=BAYES, linestyle="-.", label="Bayes-optimal")
