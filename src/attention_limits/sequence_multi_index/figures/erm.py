"""Empirical risk minimisation beside the Bayes-optimal error, for one and for two attention layers."""

import numpy as np

from attention_limits.numerics.statistics import mean_and_error
from attention_limits.plotting import curve, house_style, new_figure, points, present, realised_alpha

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
BEST, BAYES = "#000000", "#7f7f7f"
LAYERS = {"erm_one_layer": "one layer", "erm_two_layers": "two layers"}


@house_style
def draw(cubes):
    """Errors (top) and overlaps (bottom); columns: one and two layers. From the cubes erm_*_layer(s), erm_*_bounds and fig1."""
    figure, axes = new_figure(2, 2, 7.4, 6.0, sharex="col")
    bayes = {"erm_one_layer": cubes["erm_one_layer_bounds"], "erm_two_layers": cubes["fig1_learning_curve"]}
    for column, (name, title) in enumerate(LAYERS.items()):
        top, bottom = axes[:, column]
        cube, bounds = cubes[name], cubes[f"{name}_bounds"]
        for place, ridge in enumerate(cube.ridge.values):
            _draw_ridge(top, bottom, cube.sel(ridge=ridge), COLORS[place], f"$\\lambda={ridge:g}$")
        _draw_best(top, bottom, _only(bounds, "erm_optimal_ridge"))
        _draw_bayes(top, bottom, _only(bayes[name], "state_evolution"))
        top.set(title=title, yscale="log", ylim=(1e-3, 1))
        bottom.set(xlabel=r"samples per dimension $\alpha = n/D$", ylim=(0, 1.05), xlim=(0, float(cube.alpha.max())))
    axes[0, 0].set_ylabel("generalisation error")
    axes[1, 0].set_ylabel(r"cosine with the target, $m_{ll}/\sqrt{q_{ll}}$")
    axes[0, 0].legend(loc="lower left", fontsize=6.5)
    return figure


def _only(cube, estimator):
    return cube.sel(estimator=estimator) if "estimator" in cube.dims else cube


def _cosine(part, simulated=False):
    """Cosine of every layer of the student with its layer of the target, (alpha, replica) each."""
    for row in part.layer.values:
        m = part.overlap.sel(layer=row, layer_star=row)
        q = part.student_norm.sel(layer=row, layer_other=row)
        R = part.target_norm.sel(layer_star=row, layer_star_other=row) if simulated else 1.0
        yield abs(m) / np.sqrt(q * R)


def _draw_ridge(top, bottom, cube, color, label):
    theory = cube.sel(estimator="erm_state_evolution")
    trusted = (theory.converged == 1) & (theory.replica_symmetric == 1)
    error = present(theory.error_plug_in)
    curve(
        top,
        error.alpha.values,
        error.values,
        color,
        f"{label}, theory",
        converged=trusted.sel(alpha=error.alpha).values,
    )
    for values, style in zip(_cosine(theory), ("-", "--"), strict=False):
        shown = present(values)
        curve(bottom, shown.alpha.values, shown.values, color, None, style, trusted.sel(alpha=shown.alpha).values)
    for name, marker in (("erm_minimisation", "o"), ("erm_gamp", "^")):
        if name not in cube.estimator:
            continue
        part = cube.sel(estimator=name)
        error = present(part.error_plug_in)
        if not error.size:
            continue
        reached, alpha = part.converged.sel(alpha=error.alpha).values, realised_alpha(part, error.alpha)
        method = "L-BFGS" if name == "erm_minimisation" else "GAMP"
        points(top, alpha, error.values, reached, color, f"{label}, {method}", marker)
        for values in _cosine(part, simulated=True):
            shown = values.sel(alpha=error.alpha)
            points(bottom, alpha, shown.values, reached, color, None, marker)


def _draw_best(top, bottom, best):
    trusted = (best.converged == 1) & (best.replica_symmetric == 1)
    error = present(best.error_plug_in)
    reached = trusted.sel(alpha=error.alpha).values
    curve(top, error.alpha.values, error.values, BEST, "best $\\lambda$, theory", converged=reached)
    for values, style in zip(_cosine(best), ("-", "--"), strict=False):
        shown = present(values)
        curve(bottom, shown.alpha.values, shown.values, BEST, None, style, trusted.sel(alpha=shown.alpha).values)


def _draw_bayes(top, bottom, theory):
    error = present(theory.error_bayes)
    mean = mean_and_error(error.values, axis=1)[0]
    shown = mean > 1e-5
    top.plot(error.alpha.values[shown], mean[shown], color=BAYES, linestyle="-.", label="Bayes-optimal")
    for row, style in zip(theory.layer.values, ("-.", (0, (6, 2, 1, 2, 1, 2))), strict=False):
        overlap = present(theory.overlap.sel(layer=row, layer_star=row))
        bottom.plot(overlap.alpha, np.sqrt(overlap.mean("replica")), color=BAYES, linestyle=style)
