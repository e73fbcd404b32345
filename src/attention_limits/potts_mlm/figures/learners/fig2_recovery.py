"""Recovery of the couplings by the learners of Figure 2: error by epoch and by number of sequences."""

from attention_limits.plotting import house_style, legend_below
from attention_limits.potts_mlm.figures.shared import factored_curves, learner_columns, sample_axis, transformer_curves
from attention_limits.potts_mlm.readings import good, in_equilibrium, of_chosen


@house_style
def draw(cubes):
    """One column per cube and distance."""
    figure, grid, parts = learner_columns(cubes, 2, 6.0, sharey=True)
    for (part, largest), (above, below) in zip(parts, grid.T, strict=True):
        most, agree = part.sel(samples=largest), in_equilibrium(part)
        factored_curves(above, most.factored_site_error, "epoch", agree)
        transformer_curves(above, most.transformer_site_error, "epoch", agree)
        factored_curves(below, of_chosen(part, "site_error"), "samples", good(part))
        transformer_curves(below, part.transformer_site_error, "samples", agree)
        above.set(xlabel=f"epochs (M = {largest})", ylim=(0, 1.02))
        sample_axis(below, part)
    for axes in grid[:, 0]:
        axes.set(ylabel=r"error of the couplings $\mathrm{err}_J$")
    legend_below(figure, grid)
    return figure
