"""Recovery of the couplings by the learners of Figure 2: error by epoch and by number of sequences, precision by epoch."""

import numpy as np

from attention_limits.plotting import house_style, legend_below
from attention_limits.potts_mlm.figures.shared import (
    couplings_name,
    equilibrium_note,
    factored_curves,
    learner_rows,
    level,
    sample_axis,
    transformer_curves,
)
from attention_limits.potts_mlm.potts.recovery import chance
from attention_limits.potts_mlm.readings import good, in_equilibrium, of_chosen


@house_style
def draw(cubes):
    """One row per cube and distance."""
    figure, grid, rows = learner_rows(cubes)
    for (cube, distance, part, largest), (left, middle, right) in zip(rows, grid, strict=True):
        most, agree = part.sel(samples=largest), in_equilibrium(part)
        factored_curves(left, most.factored_site_error, "epoch", agree)
        transformer_curves(left, most.transformer_site_error, "epoch", agree)
        factored_curves(middle, of_chosen(part, "site_error"), "samples", good(part))
        transformer_curves(middle, part.transformer_site_error, "samples", agree)
        if bool(part.transformer_precision.isnull().all()):
            right.set_visible(False)
        else:
            factored_curves(right, most.factored_precision, "epoch", agree)
            transformer_curves(right, most.transformer_precision, "epoch", agree)
            J = part.couplings.where(agree == 1).dropna("replica", how="all").transpose("replica", ...).values
            level(right, float(np.mean([chance(one) for one in J])), "chance", linestyle="-.")
        left.set(xlabel=f"epochs (M = {largest})", ylabel=r"error of the couplings $\mathrm{err}_J$", ylim=(0, 1.02))
        sample_axis(middle, part)
        middle.set(ylim=(0, 1.02))
        right.set(xlabel=f"epochs (M = {largest})", ylabel="precision of the contacts", ylim=(0, 1.05))
        left.set_title(couplings_name(cube))
        middle.set_title(equilibrium_note(cube, distance, "\n"))
    legend_below(figure, grid)
    return figure
