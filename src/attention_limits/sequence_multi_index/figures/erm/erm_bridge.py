"""Semantic or positional: the solution that one pass of SGD and full-batch minimisation find from random weights."""

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.plotting import house_style, new_figure

TARGET, POSITIONS, ENERGY = "#0072B2", "#D55E00", "#000000"
METHODS = {"erm_minimisation": "full batch, L-BFGS", "erm_online_sgd": "one pass of SGD"}
# Diameter, in points, of the circle of cosine one, and the ticks of its axis.
FULL, TICKS = 15.0, (1, 2, 4, 8, 16, 32)


@house_style
def draw(cubes):
    """A row for each method, a column for each size of the start, from the cubes erm_bridge and erm_transitions."""
    cube = cubes["erm_bridge"]
    figure, panels = new_figure(2, cube.start_size.size, 7.2, 6.2, sharex=True, sharey=True, squeeze=False)
    boundary = cubes["erm_transitions"].transition.sel(criterion="energy").transpose("omega", "replica")
    alpha_c = mean_and_error(boundary.values, axis=1)[0]
    for column, size in enumerate(cube.start_size.values):
        for axes, (name, method) in zip(panels[:, column], METHODS.items(), strict=True):
            axes.plot(alpha_c, boundary.omega, color=ENERGY, linewidth=1.0, zorder=1)
            _draw_students(axes, cube.sel(estimator=name, start_size=size))
            axes.set(
                title=f"{method}, weights of size {size:g} at the start",
                xscale="log",
                xlim=(0.8, 42),
                ylim=(0.03, 0.57),
            )
            axes.set_xticks(TICKS, TICKS)
            axes.minorticks_off()
    for axes in panels[:, 0]:
        axes.set(ylabel=r"weight $\omega$ of the positional part")
    for axes in panels[1]:
        axes.set(xlabel=r"samples per dimension $\alpha = n/D$")
    figure.legend(handles=_legend(), loc="outside lower center", ncols=4, fontsize=7)
    return figure


def _draw_students(axes, cube):
    """Half discs at every point: area and mean squared cosine with target (left) and positions (right) are proportional."""
    for side, color, squares in (("left", TARGET, _with_target(cube)), ("right", POSITIONS, _with_positions(cube))):
        mean = squares.where(cube.converged == 1).mean("replica")
        for alpha in cube.alpha.values:
            for omega in cube.omega.values:
                value = float(mean.sel(alpha=alpha, omega=omega))
                if not np.isfinite(value):
                    continue
                outline = MarkerStyle("o", fillstyle=side)
                axes.plot(
                    alpha, omega, marker=outline, markersize=FULL * np.sqrt(value), color=color, markeredgewidth=0.0,
                    markerfacecoloralt="none", linestyle="none", zorder=3,
                )  # fmt: skip
                axes.plot(
                    alpha,
                    omega,
                    "o",
                    markersize=FULL,
                    color="none",
                    markeredgecolor="#bbbbbb",
                    markeredgewidth=0.5,
                    zorder=2,
                )


def _norm(cube):
    return cube.student_norm.isel(layer=0, layer_other=0)


def _with_target(cube):
    """Squared cosine of student and target, (alpha, omega, replica)."""
    target = cube.target_norm.isel(layer_star=0, layer_star_other=0)
    return cube.overlap.isel(layer=0, layer_star=0) ** 2 / (_norm(cube) * target)


def _with_positions(cube):
    """Squared cosine of student and direction of the positions, (alpha, omega, replica)."""
    return cube.position_overlap.isel(layer=0, direction=0) ** 2 / _norm(cube)


def _legend():
    def half(side, color, label):
        return Line2D(
            [], [], marker=MarkerStyle("o", fillstyle=side), markersize=9, color=color, markerfacecoloralt="none",
            markeredgewidth=0.0, linestyle="none", label=label,
        )  # fmt: skip

    ring = Line2D([], [], marker="o", markersize=9, color="none", markeredgecolor="#bbbbbb", label="cosine 1")
    line = Line2D([], [], color=ENERGY, linewidth=1.0, label=r"$\alpha_c$: equal objectives")
    return [half("left", TARGET, "with the target"), half("right", POSITIONS, "with the positions"), ring, line]
