"""Contacts that the learners of Figure 2 find: precision by epoch."""

import numpy as np

from attention_limits.plotting import MIDDLE, house_style, legend_below, present, say_why
from attention_limits.potts_mlm.figures.shared import (
    factored_curves,
    good_mean,
    learner_columns,
    level,
    transformer_curves,
)
from attention_limits.potts_mlm.potts.recovery import chance
from attention_limits.potts_mlm.readings import at_the_end, good, in_equilibrium, of_chosen


@house_style
def draw(cubes):
    """One column per cube and distance; the cubes have contacts as couplings."""
    figure, grid, parts = learner_columns(cubes, 1, 3.8, MIDDLE, sharey=True)
    for (part, largest), axes in zip(parts, grid[0], strict=True):
        most, agree = part.sel(samples=largest), in_equilibrium(part)
        factored_curves(axes, most.factored_precision, "epoch", agree)
        transformer_curves(axes, most.transformer_precision, "epoch", agree)
        level(axes, _chance(part), "chance", linestyle="-.")
        axes.set(xlabel=f"epochs (M = {largest})", ylim=(0, 1.05))
    grid[0, 0].set(ylabel="precision of the contacts")
    say_why(grid, "runs of the sampler disagree")
    # The last panel has all learners.
    legend_below(figure, grid[:, ::-1])
    return figure


def numbers(cubes):
    """Mean precision of each learner after its last epoch, at the largest M, on random maps and on the fold, and of chance.

    `fold_fitted` is that of the fits of softmax attention by L-BFGS that pass their flags. `raw_missed` of the `instances` of
    random maps are those in which raw attention does not find every contact.
    """
    found = {}
    for prefix, name in (("", "fig2_contact"), ("fold_", "fig2_fold")):
        part = cubes[name].isel(distance=0, ridge=0)
        agree, samples = in_equilibrium(part), present(part.factored_test_loss, "samples").samples[-1]
        part = part.sel(samples=samples)
        factored, trained = (at_the_end(part[f"{learner}_precision"]) for learner in ("factored", "transformer"))
        for kind in ("raw", "softmax"):
            one = factored.sel(attention=kind) if kind in factored.attention else np.nan * agree
            found[f"{prefix}{kind}"] = good_mean(one, agree)
            found[f"{prefix}{kind}_missed"] = float(((one < 1) & (agree == 1)).sum())
        for layers, word in ((1, "one"), (3, "three")):
            one = trained.sel(layers=layers, optimizer="adam") if layers in trained.layers else np.nan * agree
            found[f"{prefix}{word}"] = good_mean(one, agree)
        fitted = of_chosen(part, "site_precision").sel(attention="softmax")
        found |= {
            f"{prefix}chance": _chance(part), f"{prefix}fitted": good_mean(fitted, good(part).sel(attention="softmax")),
            f"{prefix}instances": float((agree == 1).sum()),
        }  # fmt: skip
    shown = (
        "softmax", "raw_missed", "instances", "one", "three", "chance", "fold_raw", "fold_softmax", "fold_one", "fold_chance",
        "fold_fitted",
    )  # fmt: skip
    return {name: found[name] for name in shown}


def _chance(part):
    """Precision of a random choice, mean over the instances in equilibrium."""
    J = part.couplings.where(in_equilibrium(part) == 1).dropna("replica", how="all").transpose("replica", ...).values
    return float(np.mean([chance(one) for one in J])) if len(J) else np.nan
