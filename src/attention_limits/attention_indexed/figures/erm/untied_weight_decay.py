"""Weight decay on untied queries and keys of one and of two dimensions: state evolution, and minima at two sizes."""

import numpy as np

from attention_limits.attention_indexed.figures.erm.erm_shared import ERROR, best, equations, evolution, fits, of
from attention_limits.attention_indexed.figures.shared import setting
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    BLUE,
    COLORS,
    DOTS,
    KEY,
    VERMILLION,
    WIDE,
    curve,
    house_style,
    legend_below,
    new_figure,
    realised_alpha,
)

# Cubes of a shape of S, beside those with `_best` and `_small`: title, colour and style of their ratio.
_SHAPES = {
    "erm_untied": (r"square $S$", BLUE, "-"),
    "erm_rectangular": (r"rectangular $S$, $d_k = 4 d_q$", VERMILLION, "--"),
}
# Markers of the sizes of the data sets.
_SIZES = {"_small": "s", "": "o"}
FLOOR = 2e-2


@house_style
def draw(cubes):
    """Errors of square and rectangular matrices against the equations, and the best decay over the Bayes-optimal error."""
    figure, (*panels, right) = new_figure(1, 3, WIDE, 4.6)
    for axes, (name, (title, color, style)) in zip(panels, _SHAPES.items(), strict=True):
        _draw_learning(axes, cubes, name)
        axes.set(title=title, ylabel=ERROR, yscale="log", ylim=(FLOOR, 1.3), xlim=(0, 3.6))
        _draw_ratio(right, cubes[f"{name}_best"], title, color, style)
    right.set(title=r"best $\lambda$ against Bayes", ylabel="error / Bayes-optimal error", xlim=(0, 3.6))
    for axes in (*panels, right):
        axes.set(xlabel=r"equations per entry of $S$, $M^2\alpha$")
    legend_below(figure, (*panels, right), ncols=5)
    return figure


def numbers(cubes):
    """The largest ratio of the best decay to Bayes of both shapes, and the largest excess of the minima of the larger size."""
    found = {}
    for name in _SHAPES:
        ratio, flags = _ratio(cubes[f"{name}_best"])
        found[f"ratio_{name.removeprefix('erm_')}"] = float(ratio.where(flags == 1).max())
    return found | {f"{name}_excess": value for name, value in _excesses(cubes).items()}


def _excesses(cubes):
    """Largest excess of the mean error of the minima over state evolution at the realised alpha, in per cent, of each size."""
    found = {}
    for size, word in (("_small", "small"), ("", "large")):
        excesses = []
        for name in _SHAPES:
            theory, minima = of(cubes[name], "erm_state_evolution"), of(cubes[name + size], "erm_minimisation")
            for decay in _decays(minima):
                part = minima.sel(weight_decay=decay)
                curve_of = theory.sel(weight_decay=decay).mse.isel(replica=0)
                exact = np.interp(realised_alpha(part, part.alpha), curve_of.alpha, curve_of)
                excesses.append(part.mse.mean("replica").values / exact - 1.0)
        found[word] = 100.0 * float(np.max(excesses))
    return found


def _decays(part):
    """The decays at which an estimator has values."""
    return part.dropna("weight_decay", how="all", subset=["mse"]).weight_decay.values


def _draw_learning(axes, cubes, name):
    """State evolution at each decay and at the best one, minima of both sizes, and the Bayes-optimal error."""
    cube, optimal, K = cubes[name], cubes[f"{name}_best"], equations(cubes[name])
    theory = of(cube, "erm_state_evolution")
    for decay in _decays(theory):
        evolution(axes, theory, decay, "mse", K)
    for small, marker in _SIZES.items():
        part = of(cubes[name + small], "erm_minimisation")
        size = setting(cubes[name + small], "erm_minimisation", "dimension")
        for decay in _decays(part):
            one = part.sel(weight_decay=decay)
            fits(axes, one, one.mse.transpose("alpha", "replica"), decay, K, marker)
        axes.plot([], [], marker, color=KEY, markersize=4, label=f"minimum, $d = {size}$")
    best(axes, optimal, "mse", K)
    axes.plot(K * optimal.alpha, optimal.mse_bayes.isel(replica=0), color=COLORS["bayes"], label="Bayes-optimal")


def _ratio(optimal):
    """Error at the best decay over the Bayes-optimal one, and its flags."""
    return optimal.mse / optimal.mse_bayes, passed(optimal, "mse", unique=True)


def _draw_ratio(axes, optimal, title, color, style):
    ratio, flags = (array.transpose("alpha", "replica").values for array in _ratio(optimal))
    curve(axes, equations(optimal) * optimal.alpha.values, ratio, color, title, style, flags, **DOTS)
    axes.axhline(1.0, color="0.6", linewidth=0.8, zorder=0)
