"""Masked-token learning of Potts data: excess loss of each learner by epoch and by number of sequences."""

from attention_limits.plotting import house_style, legend_below
from attention_limits.potts_mlm.figures.shared import (
    FULL_LOOK,
    factored_curves,
    good_mean,
    learner_columns,
    level,
    sample_axis,
    series,
    transformer_curves,
)
from attention_limits.potts_mlm.readings import excess_exponent, good, in_equilibrium, of_chosen


@house_style
def draw(cubes):
    """One column per cube and distance; all losses are above the loss of the true conditionals on the same test sequences."""
    figure, grid, parts = learner_columns(cubes, 2, 6.4)
    for (part, largest), (above, below) in zip(parts, grid.T, strict=True):
        agree = in_equilibrium(part)
        _by_epoch(above, part.sel(samples=largest))
        _by_samples(below, part)
        independent = good_mean(part.independent_loss.sel(samples=largest) - part.optimal_loss, agree)
        for axes in (above, below):
            level(axes, independent, "independent sites", linestyle="-.")
            axes.set(yscale="log")
        above.set(xlabel=f"epochs (M = {largest})")
        sample_axis(below, part)
    for axes in grid[:, 0]:
        axes.set(ylabel="excess test loss per site (nats)")
    legend_below(figure, grid)
    return figure


def numbers(cubes):
    """Power of M of the excess loss of raw attention between the two largest M, Gaussian couplings of the largest distance."""
    cube = cubes["fig2"]
    few, many = cube.test_loss.dropna("samples", how="all").samples.values[-2:]
    point = {"distance": float(cube.distance.max()), "ridge": float(cube.ridge[0]), "attention": "raw"}
    exponent, error = excess_exponent(cube, float(few), float(many), **point)
    return {"exponent": exponent, "exponent_error": error}


def _by_epoch(axes, part):
    agree = in_equilibrium(part)
    full = part.pseudo_likelihood_loss - part.optimal_loss
    level(axes, good_mean(full, part.pseudo_likelihood_converged * agree), **FULL_LOOK)
    factored_curves(axes, part.factored_test_loss - part.factored_optimal_loss, "epoch", agree)
    transformer_curves(axes, part.transformer_test_loss - part.transformer_optimal_loss, "epoch", agree)


def _by_samples(axes, part):
    agree = in_equilibrium(part)
    factored_curves(axes, of_chosen(part, "test_loss") - part.optimal_loss, "samples", good(part))
    full = (part.pseudo_likelihood_loss - part.optimal_loss).transpose("samples", "replica")
    series(axes, full, part.pseudo_likelihood_converged * agree, "samples", **FULL_LOOK)
    transformer_curves(axes, part.transformer_test_loss - part.transformer_optimal_loss, "samples", agree)
