"""Recovery of contact couplings at the published Hamming distance, from tempered runs and from single chains."""

import numpy as np

from attention_limits.plotting import (
    BLUE,
    KEY,
    VERMILLION,
    WIDE,
    flagged_points,
    house_style,
    legend_below,
    new_figure,
    points,
    say_why,
)
from attention_limits.potts_mlm.figures.shared import (
    DISTANCE_LABEL,
    LEARNER_COLORS,
    level,
    sample_axis,
    series,
)
from attention_limits.potts_mlm.potts.recovery import chance
from attention_limits.potts_mlm.readings import at_target, of_chosen, settled_at_target

# Entry of the open circles.
LEFT_OUT = "not at the distance, fit not converged, or single chains disagree"


@house_style
def draw(cubes):
    """From the cube contact_low_distance: error and precision by the number of sequences; distances of each instance."""
    cube = cubes["contact_low_distance"].isel(distance=0, ridge=0)
    there, settled = at_target(cube), settled_at_target(cube)
    figure, (errors, precisions, chains) = new_figure(1, 3, WIDE, 3.6)
    # Right of the tempered sequences, with room for its name.
    place = float(cube.samples[-1] * (cube.samples[-1] / cube.samples[0]) ** 0.22)
    for kind in cube.attention.values:
        color = LEARNER_COLORS["factored", str(kind)]
        for axes, name, of_chain in (
            (errors, "site_error", "chain_site_error"),
            (precisions, "site_precision", "chain_precision"),
        ):
            array = of_chosen(cube, name).sel(attention=kind).transpose("samples", "replica")
            series(
                axes,
                array,
                settled.sel(attention=kind),
                "samples",
                color,
                f"factored, {kind}",
                jump=None,
            )
            single = cube[of_chain].sel(attention=kind).mean("learned_chain").values[None]
            fitted = cube.chain_fit_converged.sel(attention=kind).prod("learned_chain", skipna=False)
            agreed = (cube.chains_converged * fitted * there).values[None]
            points(axes, [place], single, agreed, color, f"factored, {kind}: single chain", "s", jump=None)
            say_why(axes, LEFT_OUT)
    J = cube.couplings.where(there == 1).dropna("replica", how="all").transpose("replica", ...).values
    if len(J):
        level(precisions, float(np.mean([chance(one) for one in J])), "chance", linestyle="-.")
    _instances(chains, cube, there)
    for axes in (errors, precisions):
        sample_axis(axes, cube)
        ticks = [*axes.get_xticks(), place]
        axes.set_xticks(ticks, [*(f"{tick:g}" for tick in ticks[:-1]), "single\nchain"])
    errors.set(ylabel=r"error of the couplings $\mathrm{err}_J$", ylim=(0, 1.02))
    precisions.set(ylabel="precision of the contacts", ylim=(0, 1.05))
    legend_below(figure, (errors, precisions, chains), ncols=4)
    return figure


def numbers(cubes):
    """At the largest M: mean error and share of the contacts that are found (per cent) by each kind of attention; the instances
    at the distance, all of them, and those whose single chains disagree; range of the precision of raw attention of one chain.
    """
    cube = cubes["contact_low_distance"].isel(distance=0, ridge=0)
    last, found = cube.isel(samples=-1), {"samples": float(cube.samples[-1])}
    good, there = settled_at_target(last) == 1, at_target(cube) == 1
    for kind in ("raw", "softmax"):
        error, precision = (
            float(of_chosen(last, name).where(good).sel(attention=kind).mean("replica"))
            for name in ("site_error", "site_precision")
        )
        found |= {kind: error, f"{kind}_found": 100.0 * precision}
    disagree = (cube.chains_converged == 0).sum()
    single = cube.chain_precision.sel(attention="raw")
    return found | {
        "there": float(there.sum()), "all": float(there.size), "disagree": float(disagree),
        "chain_least": float(single.min()), "chain_most": float(single.max()),
    }  # fmt: skip


def _instances(axes, cube, there):
    """Distance of the tempered runs and of each single chain, by instance; faint where the runs disagree or miss the target."""
    numbers = np.arange(cube.sizes["replica"])
    mean, error = cube.hamming.mean("run").values, np.sqrt((cube.hamming_error**2).mean("run") / 2.0).values
    chosen = (there == 1).values
    look = {"color": BLUE, "linestyle": "none", "capsize": 2}
    axes.errorbar(numbers[chosen], mean[chosen], error[chosen], marker="o", markersize=4, label="tempered runs", **look)
    axes.errorbar(numbers[~chosen], mean[~chosen], error[~chosen], alpha=0.5, **look)
    flagged_points(axes, numbers[~chosen], mean[~chosen], BLUE, LEFT_OUT)
    for chain in cube.chain.values:
        axes.plot(
            numbers + 0.15, cube.chain_hamming.sel(chain=chain), "s", color=VERMILLION, markersize=3,
            label=None if chain else "one single chain",
        )  # fmt: skip
    for number, beta in zip(numbers, cube.beta.values, strict=True):
        axes.annotate(
            rf"$\beta = {beta:.3g}$", (number, 0.98), rotation=90, fontsize=7, ha="center", va="top", color=KEY
        )
    axes.axhline(float(cube.distance), color="0.8", linewidth=0.8, zorder=0)
    axes.set(xlabel="instance of the couplings", ylabel=DISTANCE_LABEL, ylim=(0, 1), xticks=numbers)
