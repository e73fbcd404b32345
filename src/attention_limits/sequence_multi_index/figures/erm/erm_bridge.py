"""Semantic or positional: the solution that one pass of SGD and full-batch minimisation find from random weights."""

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.plotting import BLACK, COLORS, MIDDLE, house_style, new_figure

METHODS = {"erm_minimisation": "full batch, L-BFGS", "erm_online_sgd": "one pass of SGD"}
TICKS = (1, 2, 4, 8, 16, 32)
# Mean squared cosines with target and positions of the entries of the legend.
_NAMES = {"semantic": (1, 0), "positional": (0, 1), "both, half of the data sets each": (0.5, 0.5), "neither": (0, 0)}

# The largest weight of the positional part at which the caption compares both methods.
_SMALL = 0.3 + 1e-9


@house_style
def draw(cubes):
    """A row for each method, a column for each size of the start, from the cubes erm_bridge and erm_transitions."""
    cube = cubes["erm_bridge"]
    figure, panels = new_figure(2, cube.start_size.size, MIDDLE, 6.2, sharex=True, sharey=True, squeeze=False)
    boundary = cubes["erm_transitions"].transition.sel(criterion="energy").transpose("omega", "replica")
    alpha_c = mean_and_error(boundary.values, axis=1)[0]
    alpha, omega = cube.alpha.values, cube.omega.values
    edges = _edges(np.log(alpha)), _edges(omega)
    for column, size in enumerate(cube.start_size.values):
        for axes, (name, method) in zip(panels[:, column], METHODS.items(), strict=True):
            part = cube.sel(estimator=name, start_size=size)
            axes.pcolormesh(np.exp(edges[0]), edges[1], _found(part), rasterized=True)
            axes.plot(alpha_c, boundary.omega, color=BLACK, linewidth=1.2)
            axes.set(
                title=f"{method}, start {size:g}", xscale="log", xlim=np.exp(edges[0][[0, -1]]), ylim=edges[1][[0, -1]]
            )
            axes.set_xticks(TICKS, TICKS)
            axes.minorticks_off()
    for axes in panels[:, 0]:
        axes.set(ylabel=r"weight $\omega$ of the positional part")
    for axes in panels[1]:
        axes.set(xlabel=r"samples per dimension $\alpha = n/D$")
    handles = [Patch(facecolor=_mixed(*shares), edgecolor="0.7", label=label) for label, shares in _NAMES.items()]
    handles.append(Line2D([], [], color=BLACK, linewidth=1.2, label=r"$\alpha_c$: equal objectives"))
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
    return figure


def numbers(cubes):
    """For omega up to _SMALL: from which alpha on most data sets end at the semantic solution, over all omega and starts.

    Least and most of both methods, and of their ratio where both get there; the largest alpha.
    """
    cube = cubes["erm_bridge"]
    small = cube.sel(omega=cube.omega <= _SMALL)
    batch, single = (_semantic_from(small.sel(estimator=name)) for name in METHODS)
    found = {"end": float(cube.alpha.max())}
    for name, values in (("batch", batch), ("pass", single), ("ratio", single / batch)):
        known = values[np.isfinite(values)]
        found |= {
            f"{name}_least": known.min() if known.size else np.nan,
            f"{name}_most": known.max() if known.size else np.nan,
        }
    return found


def _semantic_from(part):
    """The alpha from which on the mean squared cosine with the target is at least one half, array (omega, start); NaN without."""
    mean = (
        _with_target(part).where(part.converged == 1).mean("replica").transpose("omega", "start_size", "alpha").values
    )
    # Whether it is so at this alpha and at all larger ones.
    always = np.flip(np.logical_and.accumulate(np.flip(mean >= 0.5, -1), -1), -1)
    return np.where(always.any(-1), part.alpha.values[always.argmax(-1)], np.nan)


def _mixed(semantic, positional):
    """The colour (..., 3) of mean squared cosines with target and positions (...): white for none, their product for both."""
    semantic, positional = (np.nan_to_num(np.asarray(part, dtype=float))[..., None] for part in (semantic, positional))
    inks = (1.0 - np.array(to_rgb(COLORS[name])) for name in ("semantic", "positional"))
    return np.clip(1.0 - sum(part * ink for part, ink in zip((semantic, positional), inks, strict=True)), 0.0, 1.0)


def _found(part):
    """Colours (omega, alpha, 3) of the means over the replicas that converged."""
    squares = (of(part).where(part.converged == 1).mean("replica") for of in (_with_target, _with_positions))
    return _mixed(*(found.transpose("omega", "alpha").values for found in squares))


def _edges(values):
    """Edges of the cells around the values of a grid; those of a single value are one apart."""
    if len(values) == 1:
        return values[0] + np.array([-0.5, 0.5])
    middle = 0.5 * (values[1:] + values[:-1])
    return np.concatenate([[2 * values[0] - middle[0]], middle, [2 * values[-1] - middle[-1]]])


def _norm(cube):
    return cube.student_norm.isel(layer=0, layer_other=0)


def _with_target(cube):
    """Squared cosine of student and target, (alpha, omega, replica)."""
    target = cube.target_norm.isel(layer_star=0, layer_star_other=0)
    return cube.overlap.isel(layer=0, layer_star=0) ** 2 / (_norm(cube) * target)


def _with_positions(cube):
    """Squared cosine of student and direction of the positions, (alpha, omega, replica)."""
    return cube.position_overlap.isel(layer=0, direction=0) ** 2 / _norm(cube)
