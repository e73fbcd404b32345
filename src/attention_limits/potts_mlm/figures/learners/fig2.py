"""Masked-token learning of Potts data: excess loss by epoch, by number of sequences, and between factored and position-free."""

from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import house_style, legend_below
from attention_limits.potts_mlm.figures.shared import (
    FULL_LOOK,
    couplings_name,
    equilibrium_note,
    factored_curves,
    good_mean,
    learner_rows,
    level,
    sample_axis,
    series,
    transformer_curves,
)
from attention_limits.potts_mlm.readings import excess_exponent, good, in_equilibrium, of_chosen


@house_style
def draw(cubes):
    """One row per cube and distance; all losses are above the loss of the true conditionals on the same test sequences."""
    figure, grid, rows = learner_rows(cubes)
    for (cube, distance, part, largest), (left, middle, right) in zip(rows, grid, strict=True):
        agree = in_equilibrium(part)
        _by_epoch(left, part.sel(samples=largest))
        _by_samples(middle, part)
        _by_mixing(right, part)
        independent = good_mean(part.independent_loss.sel(samples=largest) - part.optimal_loss, agree)
        for axes in (left, middle, right):
            level(axes, independent, "independent sites", linestyle="-.")
            axes.set(yscale="log")
        left.set(xlabel=f"epochs (M = {largest})", ylabel="excess test loss per site (nats)")
        note = f"{couplings_name(cube)}\noptimal loss {good_mean(part.optimal_loss, agree):.3f}"
        left.set_title(note)
        middle.set_title(equilibrium_note(cube, distance, "\n"))
        sample_axis(middle, part)
        right.set(xlabel=r"weight $a$ of the colour" + _samples_of_mixed(cube))
    legend_below(figure, grid)
    return figure


def numbers(cubes):
    """Power of M of the excess loss of raw attention between the two largest M, Gaussian couplings of the largest distance."""
    cube = cubes["fig2"]
    few, many = cube.test_loss.dropna("samples", how="all").samples.values[-2:]
    point = {"distance": float(cube.distance.max()), "ridge": float(cube.ridge[0]), "attention": "raw"}
    exponent, error = excess_exponent(cube, float(few), float(many), **point)
    return {"exponent": exponent, "exponent_error": error}


def _samples_of_mixed(cube):
    mixed = specifications(cube).get("mixed_attention")
    return f" (M = {mixed['solver']['samples']})" if mixed else ": not computed"


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


def _by_mixing(axes, part):
    if "mixed_test_loss" not in part:
        axes.set_visible(False)
        return
    excess = of_chosen(part, "mixed_test_loss", "mixed_chosen") - part.optimal_loss
    factored_curves(axes, excess, "mixing", good(part, "mixed_"))
