"""Parts that the figures of weight decay share."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import NOT_CONVERGED, model
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import COLORS, DOTS, KEY, curve, ordered_colors, points, present, realised_alpha, say_why

METHODS = {"erm_minimisation": ("minimum", "o"), "erm_gamp": ("message passing", "D")}
ERROR = r"error $\|S - S^*\|_F^2/d$"
# Ends of the scale of decays.
_DECAYS = (1e-3, 1.0)
# A line through fewer points shows them: it is straight between them.
_COARSE = 20
# Entry of the legend for the open circles of state evolution.
_FAILED = "one replica, not converged or not replica symmetric"


def of(cube, estimator):
    """The part of an estimator, without the values of the grid that it does not have."""
    part = cube.sel(estimator=estimator) if "estimator" in cube.dims else cube
    return part.dropna("alpha", how="all", subset=["mse"]).dropna("replica", how="all", subset=["mse"])


def legend_group(name):
    """Place in the legend: decays, best decay, Bayes-optimal error, all others."""
    starts = (r"$\lambda", "best", "Bayes")
    return next((place for place, start in enumerate(starts) if name.startswith(start)), len(starts))


def decay_color(decay):
    """The colour of a weight decay; grey for the limit of vanishing decay."""
    return ordered_colors([decay], *_DECAYS, logarithmic=True)[0] if decay else "0.6"


def decay_label(decay):
    """The entry of the legend of a weight decay."""
    return rf"$\lambda = {decay:g}$" if decay else r"$\lambda \to 0$"


def method_key(axes, cubes):
    """Entries of the legend for minima and message passing, with the dimension of each of the cubes of the panels a, b."""
    for name, (label, marker) in METHODS.items():
        sizes = {panel: len(cube.eigenvalue) for panel, cube in zip("ab", cubes, strict=True) if name in cube.estimator}
        text = [str(size) for size in sorted(set(sizes.values()))]
        if len(text) > 1:
            text = [f"{size} ({panel})" for panel, size in sizes.items()]
        if text:
            axes.plot([], [], marker, color=KEY, markersize=4, label=f"{label}, $d$ = {', '.join(text)}")


def equations(cube):
    """K, the equations of an output: M (M + 1) of linear scores, M^2 + M - 2 of a softmax; untied, M^2 of linear scores."""
    tokens = model(cube, "tokens")
    if model(cube, "untied"):
        return tokens**2
    return tokens**2 + tokens - (0 if model(cube, "channel") == "linear" else 2)


def evolution(axes, theory, decay, variable, scale, jump=np.nan):
    """Draw state evolution against `scale` times alpha, with the flags of its points; no line joins the sides of a `jump`."""
    part = theory.sel(weight_decay=decay)
    _draw(axes, part, variable, scale, decay_color(decay), decay_label(decay), "-", jump)


def best(axes, optimal, variable, scale, jump=np.nan):
    """Draw a variable at the best decay as `evolution`."""
    shown = optimal.dropna("alpha", how="all", subset=[variable])
    _draw(axes, shown, variable, scale, COLORS["best"], r"best $\lambda$", "--", jump)


def _draw(axes, part, variable, scale, color, label, style, jump):
    sound = passed(part, variable, unique=True)
    values, flags = (array.transpose("alpha", "replica").values for array in (part[variable], sound))
    look = DOTS if len(values) < _COARSE else {}
    curve(axes, scale * part.alpha.values, values, color, label, style, flags, scale * jump, **look)
    say_why(axes, _FAILED)


def minima(axes, cube, decay, variable, scale):
    """Minima and fixed points of message passing at `scale` times alpha of the data: mean and standard error."""
    for name, (_, marker) in METHODS.items():
        part = of(cube, name).sel(weight_decay=decay) if name in cube.estimator else None
        shown = None if part is None else present(part[variable].transpose("alpha", "replica"))
        if shown is not None and shown.size:
            fits(axes, part, shown, decay, scale, marker)


def fits(axes, part, shown, decay, scale, marker):
    """The values `shown` (alpha, replica) of an estimator's `part` at one decay, against `scale` times the realised alpha."""
    reached = part.converged.sel(alpha=shown.alpha).transpose("alpha", "replica").values
    x, color = scale * realised_alpha(part, shown.alpha), decay_color(decay)
    points(axes, x, shown.values, reached, color, None, marker)
    say_why(axes, NOT_CONVERGED)
