"""Masked-token learning of Potts data: excess loss of single attention layers whose input mixes colours and positions."""

import numpy as np

from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import flagged_points, house_style, legend_below
from attention_limits.potts_mlm.figures.shared import LEARNER_COLORS, UNSURE, good_mean, learner_columns, level
from attention_limits.potts_mlm.readings import good, in_equilibrium, of_chosen


@house_style
def draw(cubes):
    """One column per cube and distance; losses are above that of the true conditionals on the same test sequences."""
    figure, grid, parts = learner_columns(cubes, 1, 3.4)
    for (part, _), axes in zip(parts, grid[0], strict=True):
        excess = of_chosen(part, "mixed_test_loss", "mixed_chosen") - part.optimal_loss
        _instances(axes, excess, good(part, "mixed_"))
        samples = specifications(part)["mixed_attention"]["solver"]["samples"]
        independent = good_mean(part.independent_loss.sel(samples=samples) - part.optimal_loss, in_equilibrium(part))
        level(axes, independent, "independent sites", linestyle="-.")
        axes.set(yscale="log", xlabel=f"weight $a$ of the colour (M = {samples})")
    grid[0, 0].set(ylabel="excess test loss per site (nats)")
    legend_below(figure, grid)
    return figure


def numbers(cubes):
    """Of the instances with either attention: how many are lowest at a = 0, at the larger and the smaller distance, and how many
    highest at a = 1; fits that pass all flags.
    """
    lowest, highest, passed, fits = {}, 0, 0, 0
    far = float(cubes["fig2"].distance.max())
    for cube in cubes.values():
        excess = of_chosen(cube.isel(ridge=0), "mixed_test_loss", "mixed_chosen") - cube.optimal_loss
        flags = good(cube.isel(ridge=0), "mixed_")
        passed, fits = passed + int((flags == 1).sum()), fits + int(flags.notnull().sum())
        for distance in cube.distance.values:
            values = excess.sel(distance=distance).transpose("mixing", ...).values.reshape(cube.sizes["mixing"], -1)
            values = values[:, np.isfinite(values).all(axis=0)]
            near = lowest.setdefault("far" if distance == far else "near", [])
            near += (values.argmin(axis=0) == 0).tolist()
            highest += int((values.argmax(axis=0) == len(values) - 1).sum())
    far, near = lowest.get("far", []), lowest.get("near", [])
    return {
        "far": sum(far), "of_far": len(far), "near": sum(near), "of_near": len(near), "highest": highest,
        "all": len(far) + len(near), "passed": passed, "fits": fits,
    }  # fmt: skip


def _instances(axes, excess, flags):
    """Points of each instance, joined where neighbours pass the flags; those that fail one are open circles."""
    for kind in excess.attention.values:
        color, label = LEARNER_COLORS["factored", str(kind)], f"factored, {kind}: one instance each"
        for replica in excess.replica.values:
            values, passed = (
                array.sel(attention=kind, replica=replica).transpose("mixing").values for array in (excess, flags)
            )
            sure = np.where(passed == 1, values, np.nan)
            axes.plot(excess.mixing, sure, "o-", color=color, markersize=4, linewidth=0.5, label=label)
            flagged_points(axes, excess.mixing[passed != 1], values[passed != 1], color, UNSURE)
