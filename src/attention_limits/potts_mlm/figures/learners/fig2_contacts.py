"""Contacts that the learners of Figure 2 find: precision by epoch."""

import numpy as np

from attention_limits.plotting import MIDDLE, house_style, legend_below
from attention_limits.potts_mlm.figures.shared import factored_curves, learner_columns, level, transformer_curves
from attention_limits.potts_mlm.potts.recovery import chance
from attention_limits.potts_mlm.readings import in_equilibrium


@house_style
def draw(cubes):
    """One column per cube and distance; the cubes have contacts as couplings."""
    figure, grid, parts = learner_columns(cubes, 1, 3.8, MIDDLE, sharey=True)
    for (part, largest), axes in zip(parts, grid[0], strict=True):
        most, agree = part.sel(samples=largest), in_equilibrium(part)
        factored_curves(axes, most.factored_precision, "epoch", agree)
        transformer_curves(axes, most.transformer_precision, "epoch", agree)
        J = part.couplings.where(agree == 1).dropna("replica", how="all").transpose("replica", ...).values
        level(axes, float(np.mean([chance(one) for one in J])) if len(J) else np.nan, "chance", linestyle="-.")
        axes.set(xlabel=f"epochs (M = {largest})", ylim=(0, 1.05))
    grid[0, 0].set(ylabel="precision of the contacts")
    legend_below(figure, grid)
    return figure
