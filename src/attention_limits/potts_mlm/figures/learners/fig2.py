"""Masked-token learning of Potts data: excess loss of each learner by epoch and by number of sequences."""

import numpy as np

from attention_limits.plotting import house_style, legend_below, present, say_why
from attention_limits.potts_mlm.figures.shared import (
    FULL_LOOK,
    UNSURE,
    expected_excess,
    factored_curves,
    good_mean,
    learner_columns,
    level,
    sample_axis,
    series,
    transformer_curves,
)
from attention_limits.potts_mlm.readings import at_the_end, excess_exponent, good, in_equilibrium, of_chosen

_OPTIMUM, _OPTIMUM_LOOK = (
    r"maximum likelihood, $P/(2ML)$",
    {"color": "0.4", "linewidth": 1.0, "linestyle": "-", "zorder": 1.5},
)


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
        level(above, expected_excess(part, largest), _OPTIMUM, **_OPTIMUM_LOOK)
        counts = present(part.test_loss, "samples").samples
        below.plot(counts, expected_excess(part, counts), label=_OPTIMUM, **_OPTIMUM_LOOK)
        above.set(xlabel=f"epochs (M = {largest})")
        sample_axis(below, part)
    say_why(grid, UNSURE)
    for axes in grid[:, 0]:
        axes.set(ylabel="excess test loss per site (nats)")
    # The entries of the lower panels have symbols.
    legend_below(figure, grid[::-1])
    return figure


def numbers(cubes):
    """The power of M of the excess loss, and excess losses (nats) at the largest M of each column, and of maximum likelihood.

    The power is that of raw attention between the two largest M, for Gaussian couplings of the largest distance. Losses are means
    over instances: of factored attention those of `good` fits, of transformers after the last epoch of Adam.
    """
    cube = cubes["fig2"]
    few, many = present(cube.test_loss, "samples").samples.values[-2:]
    point = {"distance": float(cube.distance.max()), "ridge": float(cube.ridge[0]), "attention": "raw"}
    exponent, error = excess_exponent(cube, float(few), float(many), **point)
    near, far = _good_fits(cube.isel(distance=0)), _good_fits(cube.isel(distance=-1))
    fold, contact = _good_fits(cubes["fig2_fold"].isel(distance=0)), _good_fits(cubes["fig2_contact"].isel(distance=0))
    return {
        "exponent": exponent, "exponent_error": error, "samples": float(many), "unsure": 100.0 * _unsure(cube.isel(distance=0)),
        "fold": fold["softmax"], "fold_optimum": fold["optimum"], "fold_one": fold[1], "contact": contact["softmax"],
        "contact_optimum": contact["optimum"], "contact_one": contact[1], "contact_three": contact[3], "far": far["raw"],
        "far_optimum": far["optimum"], "far_softmax": far["softmax_bound"], "far_one": far[1], "far_three": far[3],
        "near": near["raw_bound"], "near_optimum": near["optimum"],
    }  # fmt: skip


def _good_fits(part):
    """Mean excess losses (nats) at the largest M by kind of attention or number of layers; NaN without a good instance.

    The bounds contain unconfirmed fits too: upper bounds of those of the minimum.
    """
    part = part.isel(ridge=0)
    samples = present(part.test_loss, "samples").samples[-1]
    part, agree = part.sel(samples=samples), in_equilibrium(part)
    found = {"optimum": float(expected_excess(part, samples))}
    fitted = part.excess_loss.where(good(part) == 1).mean("replica")
    for kind in ("raw", "softmax"):
        found[kind] = float(fitted.sel(attention=kind)) if kind in fitted.attention else np.nan
        found[f"{kind}_bound"] = (
            good_mean(part.excess_loss.sel(attention=kind), agree) if kind in fitted.attention else np.nan
        )
    trained = at_the_end(part.transformer_test_loss.sel(optimizer="adam") - part.transformer_optimal_loss)
    for layers in (1, 3):
        found[layers] = good_mean(trained.sel(layers=layers), agree) if layers in trained.layers else np.nan
    return found


def _unsure(part):
    """Fraction of the fits of factored attention that fail a flag."""
    flags = good(part)
    return float((flags == 0).sum() / flags.notnull().sum())


def _by_epoch(axes, part):
    agree = in_equilibrium(part)
    full = part.pseudo_likelihood_loss - part.optimal_loss
    # The entry of the legend is that of the lower panels, which has a symbol too.
    level(axes, good_mean(full, part.pseudo_likelihood_converged * agree), **{**FULL_LOOK, "label": None})
    factored_curves(axes, part.factored_test_loss - part.factored_optimal_loss, "epoch", agree)
    transformer_curves(axes, part.transformer_test_loss - part.transformer_optimal_loss, "epoch", agree)


def _by_samples(axes, part):
    agree = in_equilibrium(part)
    factored_curves(axes, of_chosen(part, "test_loss") - part.optimal_loss, "samples", good(part))
    full = (part.pseudo_likelihood_loss - part.optimal_loss).transpose("samples", "replica")
    series(axes, full, part.pseudo_likelihood_converged * agree, "samples", jump=None, **FULL_LOOK)
    transformer_curves(axes, part.transformer_test_loss - part.transformer_optimal_loss, "samples", agree)
