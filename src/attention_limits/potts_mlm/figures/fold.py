"""The contacts of a real fold that factored attention finds, and attention between factored and position-free on it."""

import numpy as np

from attention_limits.plotting import BLUE, VERMILLION, WIDE, house_style, legend_below, new_figure
from attention_limits.potts_mlm.figures.shared import (
    couplings_name,
    equilibrium_note,
    factored_curves,
    good_mean,
    level,
)
from attention_limits.potts_mlm.potts.recovery import chance
from attention_limits.potts_mlm.readings import at_target, of_chosen


@house_style
def draw(cubes):
    """From the cube fold_low_distance: contact map, error and precision of each instance, excess loss by the mixture."""
    cube = cubes["fold_low_distance"].isel(distance=0, ridge=0)
    there = at_target(cube)
    figure, (maps, recovered, mixed) = new_figure(1, 3, WIDE, 3.9)
    last = cube.isel(samples=-1)
    shown = int(np.argmax(there.values == 1))
    _map(maps, last.isel(replica=shown))
    maps.set_title(couplings_name(cube))
    numbers = np.arange(cube.sizes["replica"])
    for kind in cube.attention.values:
        for name, marker, label in (("site_error", "o", r"$\mathrm{err}_J$"), ("site_precision", "^", "precision")):
            values = of_chosen(last, name).sel(attention=kind).values
            for passed, look in (
                (there.values == 1, {}),
                (there.values != 1, {"markerfacecolor": "none", "alpha": 0.5}),
            ):
                recovered.plot(
                    numbers[passed], values[passed], marker, linestyle="none", markersize=5, color=_color(kind),
                    label=None if look else f"{label}, {kind}", **look,
                )  # fmt: skip
    level(recovered, chance(last.couplings.isel(replica=shown).values), "chance", linestyle="-.")
    recovered.set(xlabel="instance of the colour couplings", xticks=numbers, ylim=(0, 1.05), ylabel="error, precision")
    recovered.set_title(equilibrium_note(cubes["fold_low_distance"], float(cube.distance), "\n"), fontsize=8)
    excess = of_chosen(cube, "mixed_test_loss", "mixed_chosen") - cube.optimal_loss
    factored_curves(mixed, excess, "mixing", there)
    level(mixed, good_mean(cube.independent_loss.isel(samples=-1) - cube.optimal_loss, there), "independent sites")
    mixed.set(xlabel=r"weight $a$ of the colour", ylabel="excess test loss per site (nats)", yscale="log")
    legend_below(figure, (recovered, mixed), ncols=4)
    return figure


def _color(kind):
    return BLUE if kind == "raw" else VERMILLION


def _map(axes, part):
    """Known contacts, and as many pairs of the largest |A_ij + A_ji|: raw above the diagonal, softmax below it."""
    J = part.couplings.values
    size = len(J)
    edges = (0.5, size + 0.5)
    axes.imshow(J, cmap="Greys", vmin=0, vmax=3, extent=(*edges, *edges[::-1]))
    i, j = np.triu_indices(size, 1)
    for kind in part.attention.values:
        attention = part.attention_map.sel(attention=kind).values
        scores = np.abs(attention + attention.T)[i, j]
        chosen = np.argsort(-scores, kind="stable")[: int(J[i, j].sum())]
        right = J[i[chosen], j[chosen]] > 0
        for passed, color in ((right, BLUE), (~right, VERMILLION)):
            x, y = j[chosen][passed] + 1, i[chosen][passed] + 1
            axes.plot(*((x, y) if kind == "raw" else (y, x)), ".", color=color, markersize=2.5)
    axes.plot(edges, edges, color="0.6", linewidth=0.6)
    axes.set(xlabel="site $j$ (above: raw)", ylabel="site $i$ (below: softmax)", xlim=edges, ylim=edges[::-1])
