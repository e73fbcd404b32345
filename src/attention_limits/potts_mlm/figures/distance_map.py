"""Error of the couplings and excess loss against the mean Hamming distance of the data."""

import numpy as np
from matplotlib.ticker import FixedLocator

from attention_limits.plotting import (
    BLUE,
    VERMILLION,
    WIDE,
    flagged_points,
    house_style,
    legend_below,
    new_figure,
    points,
    say_why,
    sound_mean,
)
from attention_limits.potts_mlm.figures.shared import DISTANCE_LABEL, UNSURE, expected_excess
from attention_limits.potts_mlm.readings import good, in_equilibrium, of_chosen, settled

_LOOKS = {
    "distance_map_gaussian": (BLUE, "o", "Gaussian J"),
    "distance_map_contact": (VERMILLION, "s", "contact J"),
}
# Room for the symbols of one kind at one distance, on the axis of d_H: contacts have steps of 0.05 at the scale `paper`.
ROOM = 0.024
# Of the excess loss, which spans less than a decade at some scales.
TICKS = (0.1, 0.2, 0.5, 0.8, 1, 1.2, 1.5, 2, 3, 5, 10, 20)


@house_style
def draw(cubes):
    """From the cubes distance_map_gaussian and distance_map_contact: errors, excess loss, inverse temperature."""
    figure, (errors, excess, beta) = new_figure(1, 3, WIDE, 3.8)
    for (name, (color, marker, label)), side in zip(_LOOKS.items(), (-1, 1), strict=True):
        cube = cubes[name]
        cube = cube.isel(ridge=0, attention=0, samples=-1).transpose("distance", "replica", ...)
        x = cube.hamming.mean(("run", "replica")).values
        # Both kinds share most distances: beside each other, no symbol covers another one.
        beside = x + side * ROOM / 4
        agreed = good(cube).transpose("distance", "replica").values
        site, full = (
            of_chosen(cube, kind).transpose("distance", "replica").values for kind in ("site_error", "full_error")
        )
        points(errors, beside, site, agreed, color, rf"$\mathrm{{err}}_J$, {label}", marker, jump=None)
        points(
            errors, beside, full, agreed, color, rf"$\mathrm{{err}}_\mathrm{{full}}$, {label}", "^" if marker == "o" else "v",
            jump=None,
        )  # fmt: skip
        samples = float(cube.samples)
        expected = float(expected_excess(cube, samples))
        say_why(errors, UNSURE)
        # One symbol for each data set, beside each other; one entry in the legend.
        shifts = side * ROOM * (np.arange(cube.sizes["replica"]) + 0.5) / cube.sizes["replica"]
        for index, shift in enumerate(shifts):
            ratio, bar = (cube[name].isel(replica=index).values / expected for name in ("excess_loss", "excess_error"))
            passed = agreed[:, index] == 1
            flagged_points(excess, (x + shift)[~passed], ratio[~passed], color, UNSURE)
            excess.errorbar(
                (x + shift)[passed], ratio[passed], bar[passed], color=color, marker=marker, linestyle="none", markersize=3,
                capsize=1.5, elinewidth=0.8, label=None if index else label,
            )  # fmt: skip
        first = cube.isel(replica=0)
        known = in_equilibrium(first).values == 1
        flagged_points(beta, x[~known], first.beta[~known], color, UNSURE)
        beta.errorbar(
            x[known], first.beta[known], first.beta_error[known], color=color, marker=marker, linestyle="none",
            markersize=4, capsize=2, label=label,
        )  # fmt: skip
    errors.set(xlabel=DISTANCE_LABEL, ylabel=rf"error of the couplings ($M = {samples:g}$)", yscale="log")
    excess.axhline(1.0, color="0.4", linewidth=1.0, linestyle="--", label=r"$P/(2ML)$")
    excess.set(xlabel=DISTANCE_LABEL, ylabel=r"excess test loss over $P/(2ML)$", yscale="log")
    excess.yaxis.set_major_locator(FixedLocator(TICKS))
    excess.yaxis.set_major_formatter("{x:g}")
    excess.yaxis.set_minor_formatter("")
    beta.set(xlabel=DISTANCE_LABEL, ylabel=r"inverse temperature $\beta$", ylim=(0, None))
    legend_below(figure, (errors, excess), ncols=5)
    return figure


def numbers(cubes):
    """Growth of err_J for Gaussian couplings, from which distance to which; the largest excess loss of each kind of couplings
    over that of maximum likelihood; up to which distance the error of all contact couplings exceeds one.

    err_J is the mean of the figure, at distances where it has one. The error of all couplings is the median over the data sets
    whose fit has converged. Losses are those of fits that pass all flags.
    """
    found = {}
    for name in _LOOKS:
        cube = cubes[name].isel(ridge=0, attention=0, samples=-1)
        kind, agreed = name.removeprefix("distance_map_"), good(cube)
        excess = cube.excess_loss.where(agreed == 1) / expected_excess(cube, float(cube.samples))
        found |= {f"{kind}_loss": float(excess.max())}
        if kind == "gaussian":
            site = of_chosen(cube, "site_error")
            mean, *_ = sound_mean(*(array.transpose("distance", "replica").values for array in (site, agreed)), None)
            pairs = zip(cube.distance.values.tolist(), mean.tolist(), strict=True)
            error = {distance: value for distance, value in pairs if np.isfinite(value)} or {np.nan: np.nan}
            near, far = min(error), max(error)
            found |= {"near": near, "far": far, "growth": error[near] / error[far]}
        else:
            full = of_chosen(cube, "full_error").where(settled(cube) == 1).median("replica")
            found |= {"up_to": float(cube.distance.where(full > 1).max())}
    return found
