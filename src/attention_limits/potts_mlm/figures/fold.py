"""Contacts of a real fold that factored attention finds at d_H = 0.3, and attention between factored and position-free on it."""

import numpy as np
from matplotlib.ticker import FixedLocator

from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import MIDDLE, flagged_points, house_style, legend_below, new_figure
from attention_limits.potts_mlm.figures.shared import (
    FAR_OR_UNSETTLED,
    LEARNER_COLORS,
    contact_map,
    expected_excess,
    good_mean,
    level,
)
from attention_limits.potts_mlm.potts.recovery import chance
from attention_limits.potts_mlm.readings import at_target, of_chosen, settled, settled_at_target

# Of the excess loss, which spans about a decade.
TICKS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
# Marker of the instances, by kind of attention.
_MARKERS = {"raw": "o", "softmax": "s"}


@house_style
def draw(cubes):
    """From the cube fold_low_distance: contact map, error and precision of each instance, excess loss by the mixture."""
    cube = cubes["fold_low_distance"].isel(distance=0, ridge=0)
    there, last = at_target(cube), cube.isel(samples=-1)
    figure, ((maps, mixed), (errors, precisions)) = new_figure(2, 2, MIDDLE, 6.8)
    shown = _shown(cube)
    _map(maps, last.isel(replica=shown))
    maps.set_title(f"$L = {cube.sizes['site']}$, instance {shown}")
    for axes, name in ((errors, "site_error"), (precisions, "site_precision")):
        _instances(axes, last, name, settled_at_target(last))
        axes.set_title(f"$M = {int(last.samples)}$")
    level(precisions, chance(last.couplings.isel(replica=shown).values), "chance", linestyle="--")
    errors.set(ylabel=r"error of the couplings $\mathrm{err}_J$")
    precisions.set(ylabel="precision of the contacts")
    samples = specifications(cube)["mixed_attention"]["solver"]["samples"]
    excess = of_chosen(cube, "mixed_test_loss", "mixed_chosen") - cube.optimal_loss
    _mixtures(mixed, excess.where(there == 1), settled(cube, "mixed_"))
    independent = good_mean(cube.independent_loss.sel(samples=samples) - cube.optimal_loss, there)
    level(mixed, independent, "independent sites", linestyle="-.")
    level(mixed, expected_excess(cube, samples), "maximum likelihood at $a = 0$, $P/(2ML)$")
    mixed.set(xlabel=r"weight $a$ of the colour", ylabel="excess test loss per site (nats)", yscale="log")
    mixed.set_title(f"$M = {samples}$")
    mixed.yaxis.set_major_locator(FixedLocator(TICKS))
    mixed.yaxis.set_major_formatter("{x:g}")
    mixed.yaxis.set_minor_formatter("")
    legend_below(figure, (mixed, precisions), ncols=2)
    return figure


def numbers(cubes):
    """Of softmax attention at the distance: number of instances, range of precision (per cent) and error; training sequences."""
    last = cubes["fold_low_distance"].isel(distance=0, ridge=0, samples=-1)
    good = settled_at_target(last).sel(attention="softmax") == 1
    error, precision = (
        of_chosen(last, name).sel(attention="softmax").where(good) for name in ("site_error", "site_precision")
    )
    return {
        "instances": float(good.sum()), "samples": float(last.samples), "least": float(error.min()),
        "largest": float(error.max()), "worst": 100.0 * float(precision.min()), "best": 100.0 * float(precision.max()),
    }  # fmt: skip


def _shown(cube):
    """The first instance at the target whose fits with all sequences have converged, or the first one."""
    return int(np.argmax(settled_at_target(cube.isel(samples=-1)).prod("attention").values == 1))


def _instances(axes, part, name, flags):
    """A measure of recovery of each instance, open where the instance or its fit fails a flag, above temperature and distance."""
    numbers = np.arange(part.sizes["replica"])
    for aside, kind in zip((-0.1, 0.1), part.attention.values, strict=True):
        color, passed = LEARNER_COLORS["factored", str(kind)], flags.sel(attention=kind).values == 1
        values, look = of_chosen(part, name).sel(attention=kind).values, {"linestyle": "none", "markersize": 4}
        axes.plot(numbers[passed] + aside, values[passed], color=color, marker=_MARKERS[str(kind)], **look)
        flagged_points(axes, numbers[~passed] + aside, values[~passed], color, FAR_OR_UNSETTLED)
    ticks = [
        f"{number}\n{beta:.2f}\n{distance:.2f}"
        for number, beta, distance in zip(numbers, part.beta.values, part.hamming.mean("run").values, strict=True)
    ]
    axes.set_xticks(numbers, ticks)
    axes.set(xlabel=r"instance, $\beta$, $d_H$", ylim=(0, 1.05))


def _mixtures(axes, excess, flags):
    """A line by the mixture for each instance; a fit that has not converged is an open circle."""
    excess = excess.dropna("replica", how="all")
    for kind in excess.attention.values:
        look = {
            "color": LEARNER_COLORS["factored", str(kind)],
            "marker": _MARKERS[str(kind)],
            "linewidth": 0.7,
            "markersize": 4,
        }
        for replica in excess.replica.values:
            values = excess.sel(attention=kind, replica=replica).values
            passed = flags.sel(attention=kind, replica=replica).values == 1
            axes.plot(excess.mixing, np.where(passed, values, np.nan), **look)
            flagged_points(axes, excess.mixing[~passed], values[~passed], look["color"], FAR_OR_UNSETTLED)
        axes.plot([], [], label=f"factored, {kind}: one instance each", **look)


def _map(axes, part):
    """Known contacts, and as many pairs of the largest |A_ij + A_ji|: raw above the diagonal, softmax below it."""
    J = part.couplings.values
    i, j = np.triu_indices(len(J), 1)
    chosen = []
    for kind in ("raw", "softmax"):
        attention = part.attention_map.sel(attention=kind).values
        order = np.argsort(-np.abs(attention + attention.T)[i, j], kind="stable")[: int(J[i, j].sum())]
        chosen.append((i[order], j[order]))
    contact_map(axes, J, chosen, 2.5)
    axes.set(xlabel="site $j$ (above: raw)", ylabel="site $i$ (below: softmax)")
