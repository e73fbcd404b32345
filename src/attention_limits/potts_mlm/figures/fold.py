"""Contacts of a real fold that factored attention finds at d_H = 0.3, and attention between factored and position-free on it."""

import numpy as np

from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import WIDE, flagged_points, house_style, legend_below, new_figure
from attention_limits.potts_mlm.figures.shared import LEARNER_COLORS, contact_map, couplings_name, good_mean, level
from attention_limits.potts_mlm.potts.recovery import chance
from attention_limits.potts_mlm.readings import at_target, of_chosen, settled, settled_at_target

# Marker and name of each measure of recovery.
_MEASURES = {"site_error": ("o", r"$\mathrm{err}_J$"), "site_precision": ("^", "precision")}
# Entry of the open circles.
FAILED = "not at the distance, or fit not converged"


@house_style
def draw(cubes):
    """From the cube fold_low_distance: contact map, error and precision of each instance, excess loss by the mixture."""
    cube = cubes["fold_low_distance"].isel(distance=0, ridge=0)
    there, last = at_target(cube), cube.isel(samples=-1)
    figure, (maps, recovered, mixed) = new_figure(1, 3, WIDE, 4.2)
    shown = _shown(cube)
    _map(maps, last.isel(replica=shown))
    maps.set_title(f"{couplings_name(cube)}, instance {shown}")
    _instances(recovered, last, settled_at_target(last))
    level(recovered, chance(last.couplings.isel(replica=shown).values), "chance", linestyle="-.")
    recovered.set_title(f"$M = {int(last.samples)}$")
    samples = specifications(cube)["mixed_attention"]["solver"]["samples"]
    excess = of_chosen(cube, "mixed_test_loss", "mixed_chosen") - cube.optimal_loss
    _mixtures(mixed, excess.where(there == 1), settled(cube, "mixed_"))
    independent = good_mean(cube.independent_loss.sel(samples=samples) - cube.optimal_loss, there)
    level(mixed, independent, "independent sites")
    mixed.set(xlabel=r"weight $a$ of the colour", ylabel="excess test loss per site (nats)", yscale="log")
    mixed.set_title(f"$M = {samples}$")
    legend_below(figure, (recovered, mixed), ncols=4)
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


def _instances(axes, part, flags):
    """Error and precision of each instance, faint and open where the instance or its fit fails a flag; temperatures."""
    numbers = np.arange(part.sizes["replica"])
    for aside, kind in zip((-0.1, 0.1), part.attention.values, strict=True):
        color, passed = LEARNER_COLORS["factored", str(kind)], flags.sel(attention=kind).values == 1
        for name, (marker, label) in _MEASURES.items():
            values = of_chosen(part, name).sel(attention=kind).values
            look = {"marker": marker, "color": color, "linestyle": "none", "markersize": 5}
            axes.plot(numbers[passed] + aside, values[passed], label=f"{label}, factored, {kind}", **look)
            flagged_points(axes, numbers[~passed] + aside, values[~passed], color, FAILED)
    ticks = [
        f"{number}\n{beta:.2f}\n{distance:.2f}"
        for number, beta, distance in zip(numbers, part.beta.values, part.hamming.mean("run").values, strict=True)
    ]
    axes.set_xticks(numbers, ticks)
    axes.set(xlabel=r"instance, $\beta$, $d_H$", ylim=(0, 1.05), ylabel="error, precision")


def _mixtures(axes, excess, flags):
    """A line by the mixture for each instance; a fit that has not converged is an open circle."""
    excess = excess.dropna("replica", how="all")
    for kind in excess.attention.values:
        color = LEARNER_COLORS["factored", str(kind)]
        for replica in excess.replica.values:
            values = excess.sel(attention=kind, replica=replica).values
            passed = flags.sel(attention=kind, replica=replica).values == 1
            axes.plot(excess.mixing, np.where(passed, values, np.nan), "o-", color=color, linewidth=0.7, markersize=4)
            flagged_points(axes, excess.mixing[~passed], values[~passed], color, FAILED)
        axes.plot([], [], color=color, linewidth=0.7, label=f"factored, {kind}: one instance each")


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
