"""Empirical risk minimisation of attention layers beside the error of the posterior mean."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    COLORS,
    DOTS,
    FLAGGED,
    MIDDLE,
    WIDE,
    curve,
    house_style,
    legend_below,
    new_figure,
    ordered_colors,
    points,
    present,
    realised_alpha,
    say_why,
)
from attention_limits.sequence_multi_index.figures.shared import DOUBTFUL, UNDETERMINED

# Ends of the scale of ridges.
RIDGES = (1e-3, 1.0)
# A smaller error counts as close to the target.
_SMALL = 0.01
METHODS = {"erm_minimisation": ("L-BFGS", "o"), "erm_gamp": ("GAMP", "D")}


@house_style
def draw(cubes):
    """Error and cosine of each layer with that of the target, from the cubes erm_one_layer (or erm_two_layers) and *_bounds."""
    name = min(cubes, key=len)
    cube, bounds = cubes[name], cubes[f"{name}_bounds"]
    layers = cube.layer.values
    deep = len(layers) > 1
    figure, (left, *right) = new_figure(1, 1 + len(layers) + deep, WIDE if deep else MIDDLE, 4.2)
    if deep:
        _draw_determined(right.pop(), cube)
    panels = [(left, _error), *((axes, _cosine_of(layer)) for axes, layer in zip(right, layers, strict=True))]
    drawn = [
        (left, _error),
        *((axes, _cosine_with_drawn_target(layer)) for axes, layer in zip(right, layers, strict=True)),
    ]
    for ridge, color in zip(
        cube.ridge.values, ordered_colors(cube.ridge.values, *RIDGES, logarithmic=True), strict=True
    ):
        here = cube.sel(ridge=ridge, drop=True)
        _draw_theory(panels, here.sel(estimator="erm_state_evolution"), color, f"$\\lambda={ridge:g}$")
        for method in (name for name in METHODS if name in cube.estimator.values):
            label, marker = METHODS[method]
            _draw_points(drawn, here.sel(estimator=method), color, f"$\\lambda={ridge:g}$, {label}", marker)
    best = "best $\\lambda \\geq 10^{-3}$"
    _draw_theory(panels, bounds.sel(estimator="erm_optimal_ridge"), COLORS["best"], best, **DOTS)
    _draw_bayes(panels, bounds.sel(estimator="state_evolution"))
    left.set(ylabel="generalisation error", yscale="log", ylim=(1e-5, 1))
    for axes, layer in zip(right, layers, strict=True):
        of_layer = f" of layer {layer}" if len(layers) > 1 else ""
        axes.set(ylabel=f"cosine{of_layer} with the target, $m/\\sqrt{{q}}$", ylim=(0, 1.05))
    for axes, _ in panels:
        axes.set(xlabel=r"samples per dimension $\alpha = n/D$", xlim=(0, 1.03 * float(cube.alpha.max())))
    say_why([axes for axes, _ in panels], UNDETERMINED if deep else DOUBTFUL)
    legend_below(figure, left, ncols=3)
    return figure


def numbers(cubes):
    """For one layer: the first alpha of the grid with a small error, of the best ridge and of the posterior mean.

    For two: the smallest and the largest ridge, and from which alpha on the objective determines the overlaps of all data sets.
    """
    if "erm_two_layers" in cubes:
        share = _determined(cubes["erm_two_layers"])
        found = {}
        for name, ridge in (("low", share.ridge.min()), ("high", share.ridge.max())):
            part = share.sel(ridge=ridge).dropna("alpha")
            last = part.alpha.where(part < 1).max().fillna(-np.inf)
            found |= {name: float(ridge), f"from_{name}": float(part.alpha.where(part.alpha > last).min())}
        return found
    bounds = cubes["erm_one_layer_bounds"]
    best, bayes = (bounds.sel(estimator=name) for name in ("erm_optimal_ridge", "state_evolution"))
    return {"ridge": _first_small(best, "error_plug_in"), "bayes": _first_small(bayes, "error_bayes")}


def _first_small(part, variable):
    mean = part[variable].where(passed(part, "overlap") == 1).mean("replica")
    return float(mean.alpha.where(mean < _SMALL).min())


def _determined(cube):
    """Share of the data sets whose training objective determines all overlaps, array (ridge, alpha)."""
    return cube.determined.mean("replica").transpose("ridge", "alpha")


def _draw_determined(axes, cube):
    share = _determined(cube)
    # Larger symbols below smaller ones: both are visible where two ridges have the same share.
    sizes = np.arange(2 * len(share) + 2, 2, -2)
    colors = ordered_colors(share.ridge.values, *RIDGES, logarithmic=True)
    for part, color, size in zip(share, colors, sizes, strict=True):
        part = part.dropna("alpha")
        axes.plot(part.alpha, part, "o--", color=color, markersize=size, linewidth=0.9)
    axes.set(
        xlabel=r"samples per dimension $\alpha = n/D$", xlim=(0, 1.03 * float(cube.alpha.max())), ylim=(-0.03, 1.05),
        ylabel="share of data sets with determined overlaps",
    )  # fmt: skip


def _error(part):
    """Generalisation error, (alpha, replica): that of the estimated weights."""
    return part.error_plug_in


def _cosine_of(layer):
    def cosine(part):
        """Cosine of the layer of the student with that of a target of norm one, (alpha, replica)."""
        # The sign of a tied layer is free.
        q = part.student_norm.sel(layer=layer, layer_other=layer)
        return abs(part.overlap.sel(layer=layer, layer_star=layer)) / np.sqrt(q)

    return cosine


def _cosine_with_drawn_target(layer):
    def cosine(part):
        """The same with the target of a data set, whose norm is not exactly one."""
        return _cosine_of(layer)(part) / np.sqrt(part.target_norm.sel(layer_star=layer, layer_star_other=layer))

    return cosine


def _draw_theory(panels, theory, color, label, **look):
    """State evolution as lines; where no alpha has a mean, the entry of the legend is an open circle."""
    flags = passed(theory, "overlap")
    for axes, of in panels:
        shown = present(of(theory))
        sound = flags.sel(alpha=shown.alpha).values
        curve(axes, shown.alpha.values, shown.values, color, label, flags=sound, **look)
        if shown.size and label not in axes.get_legend_handles_labels()[1]:
            # Not pale: the pale ones name the reason.
            axes.plot([], [], color=color, label=label, **FLAGGED | {"alpha": 1.0})


def _draw_points(panels, part, color, label, marker):
    for axes, of in panels:
        shown = present(of(part))
        if shown.size:
            reached = passed(part, "overlap").sel(alpha=shown.alpha).values
            points(axes, realised_alpha(part, shown.alpha), shown.values, reached, color, label, marker)


def _draw_bayes(panels, theory):
    (left, _), *right = panels
    flags = passed(theory, "overlap")
    cosines = [np.sqrt(theory.overlap.isel(layer=place, layer_star=place)) for place in range(len(right))]
    for (axes, _), shown in zip(((left, None), *right), map(present, (theory.error_bayes, *cosines)), strict=True):
        curve(
            axes,
            shown.alpha.values,
            shown.values,
            COLORS["bayes"],
            "posterior mean, uninformed start",
            "-.",
            flags.sel(alpha=shown.alpha).values,
        )
