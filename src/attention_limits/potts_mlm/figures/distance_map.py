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
)
from attention_limits.potts_mlm.figures.shared import DISTANCE_LABEL, UNSURE, expected_excess
from attention_limits.potts_mlm.readings import good, of_chosen, settled

_LOOKS = {
    "distance_map_gaussian": (BLUE, "o", "Gaussian J"),
    "distance_map_contact": (VERMILLION, "s", "contact J"),
}
# Of the excess loss, which spans less than a decade at some scales.
TICKS = (0.1, 0.2, 0.5, 0.8, 1, 1.2, 1.5, 2, 3, 5, 10, 20)


@house_style
def draw(cubes):
    """From the cubes distance_map_gaussian and distance_map_contact: errors, excess loss, inverse temperature."""
    figure, (errors, excess, beta) = new_figure(1, 3, WIDE, 3.8)
    for name, (color, marker, label) in _LOOKS.items():
        cube = cubes[name]
        cube = cube.isel(ridge=0, attention=0, samples=-1).transpose("distance", "replica", ...)
        x = cube.hamming.mean(("run", "replica")).values
        agreed = good(cube).transpose("distance", "replica").values
        site, full = (
            of_chosen(cube, kind).transpose("distance", "replica").values for kind in ("site_error", "full_error")
        )
        points(errors, x, site, agreed, color, rf"$\mathrm{{err}}_J$, {label}", marker, jump=None)
        points(
            errors, x, full, agreed, color, rf"$\mathrm{{err}}_\mathrm{{full}}$, {label}", "^" if marker == "o" else "v",
            jump=None,
        )  # fmt: skip
        samples = float(cube.samples)
        expected = float(expected_excess(cube, samples))
        say_why(errors, UNSURE)
        # One symbol for each data set, beside each other; one entry in the legend.
        shifts = 0.012 * (cube.replica.values - cube.replica.values.mean())
        for index, shift in enumerate(shifts):
            ratio, bar = (cube[name].isel(replica=index).values / expected for name in ("excess_loss", "excess_error"))
            passed = agreed[:, index] == 1
            flagged_points(excess, (x + shift)[~passed], ratio[~passed], color, UNSURE)
            excess.errorbar(
                (x + shift)[passed], ratio[passed], bar[passed], color=color, marker=marker, linestyle="none", markersize=3,
                capsize=1.5, elinewidth=0.8, label=None if index else label,
            )  # fmt: skip
        beta.errorbar(
            x, cube.beta.isel(replica=0), cube.beta_error.isel(replica=0), color=color, marker=marker, linestyle="none",
            markersize=4, capsize=2, label=label,
        )  # fmt: skip
    errors.set(xlabel=DISTANCE_LABEL, ylabel=rf"error of the couplings ($M = {samples:g}$)", yscale="log")
    excess.axhline(1.0, color="0.4", linewidth=1.0, linestyle="--", label=r"$P/(2ML)$")
    excess.set(xlabel=DISTANCE_LABEL, ylabel=r"excess test loss over $P/(2ML)$", yscale="log")
    excess.yaxis.set_major_locator(FixedLocator(TICKS))
    excess.yaxis.set_major_formatter("{x:g}")
    excess.yaxis.set_minor_formatter("")
    beta.set(xlabel=DISTANCE_LABEL, ylabel=r"inverse temperature $\beta$", ylim=(0, None))
    legend_below(figure, (errors, excess), ncols=7)
    return figure


def numbers(cubes):
    """Growth of err_J for Gaussian couplings, from which distance to which; the largest excess loss of each kind of couplings
    over that of maximum likelihood; up to which distance the error of all contact couplings exceeds one.

    Errors are medians over the data sets whose fit has converged, losses those of fits that pass all flags.
    """
    found = {}
    for name in _LOOKS:
        cube = cubes[name].isel(ridge=0, attention=0, samples=-1)
        kind, there = name.removeprefix("distance_map_"), settled(cube) == 1
        site, full = (of_chosen(cube, error).where(there).median("replica") for error in ("site_error", "full_error"))
        excess = cube.excess_loss.where(good(cube) == 1) / expected_excess(cube, float(cube.samples))
        found |= {f"{kind}_loss": float(excess.max())}
        if kind == "gaussian":
            near, far = (float(end(cube.distance)) for end in (np.min, np.max))
            found |= {"near": near, "far": far, "growth": float(site.sel(distance=near) / site.sel(distance=far))}
        else:
            found |= {"up_to": float(cube.distance.where(full > 1).max())}
    return found
