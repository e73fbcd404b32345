"""Recovery of the couplings by the learners of Figure 2: error by epoch and by number of sequences."""

from attention_limits.plotting import house_style, legend_below, present, say_why
from attention_limits.potts_mlm.figures.shared import (
    UNSURE,
    factored_curves,
    good_mean,
    learner_columns,
    sample_axis,
    transformer_curves,
)
from attention_limits.potts_mlm.readings import at_the_end, good, in_equilibrium, of_chosen


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
        above.set(xlabel=f"epochs (M = {largest})", ylim=(0, 1.03))
        sample_axis(below, part)
    say_why(grid, UNSURE)
    for axes in grid[:, 0]:
        axes.set(ylabel=r"error of the couplings $\mathrm{err}_J$")
    # The entries of the lower panels have symbols.
    legend_below(figure, grid[::-1])
    return figure


def numbers(cubes):
    """Errors on Gaussian couplings at the largest M, and the share of the fits at the smallest distance that fail a flag.

    Mean error of raw attention of `good` fits at the largest distance, and of the best starts at the smallest one; the smallest
    mean error of a transformer after its last epoch.
    """
    cube = cubes["fig2"].isel(ridge=0)
    flags = good(cube.isel(distance=0))
    samples = present(cube.test_loss, "samples").samples[-1]
    last, agree = cube.sel(samples=samples), in_equilibrium(cube)
    raw = of_chosen(last, "site_error").sel(attention="raw")
    trained = at_the_end(last.transformer_site_error.where(agree == 1)).mean("replica")
    return {
        "samples": float(samples), "unsure": 100.0 * float((flags == 0).sum() / flags.notnull().sum()),
        "far": good_mean(raw, good(last).sel(attention="raw").where(cube.distance == cube.distance.max())),
        "near": good_mean(raw, agree.where(cube.distance == cube.distance.min())), "transformer": float(trained.min()),
    }  # fmt: skip
