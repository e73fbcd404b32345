"""Losses of factored attention against the number of sequences at small ridges, also of the minimum that is not the lowest."""

import numpy as np

from attention_limits.plotting import MIDDLE, house_style, legend_below, new_figure, say_why
from attention_limits.potts_mlm.figures.shared import equilibrium_note, good_mean, level, ridge_colors, series
from attention_limits.potts_mlm.readings import in_equilibrium, of_chosen, settled

# Largest ridge with a peak of the test loss.
SMALL = 1e-4
# Entry of the open circles.
NOT_CONVERGED = "one replica, fit not converged"


@house_style
def draw(cubes):
    """Test loss (top) and training loss (bottom) from the cube fig3_right, one column per distance."""
    cube = cubes["fig3_right"]
    distances = cube.distance.values
    cube = cube.isel(attention=0).assign_coords(samples=cube.samples / cube.sizes["site"])
    figure, columns = new_figure(2, len(distances), MIDDLE, 6.0, sharex=True, squeeze=False, height_ratios=(3, 2))
    for distance, (top, bottom) in zip(distances, columns.T, strict=True):
        part = cube.sel(distance=distance)
        for ridge, color in zip(part.ridge.values, ridge_colors(part.ridge.values), strict=True):
            one = part.sel(ridge=ridge)
            fitted = settled(one).transpose("samples", "replica")
            for axes, name in ((top, "test_loss"), (bottom, "training_loss")):
                loss = of_chosen(one, name).transpose("samples", "replica")
                series(
                    axes, loss, fitted, "samples", color, rf"$\lambda = 10^{{{_power(ridge)}}}$"
                )  # fmt: skip
                _other_minima(axes, one, name, color)
        for axes in (top, bottom):
            level(axes, good_mean(part.optimal_loss, in_equilibrium(part)), "optimal", linestyle="--")
        top.set(xscale="log", yscale="log")
        top.set_title(equilibrium_note(cube, distance))
        bottom.set(xlabel=r"sequences per site $M/L$")
    say_why(columns, NOT_CONVERGED)
    columns[0][0].set(ylabel="test loss per site (nats)")
    columns[1][0].set(ylabel="training loss per site (nats)")
    legend_below(figure, columns[0][0], ncols=3)
    return figure


def numbers(cubes):
    """Sequences per site at the peaks of the test loss for ridges of at most SMALL; how far, in per cent, the loss at larger
    ridges rises above that of the fewest sequences; differences of starts that have converged, by distance: of the training
    objective (nats) and of the test loss; starts that have not converged.
    """
    cube = cubes["fig3_right"].isel(attention=0)
    loss = of_chosen(cube, "test_loss").where(settled(cube) == 1).mean("replica").transpose("samples", ...)
    small = loss.ridge <= SMALL * (1 + 1e-6)
    peaks = cube.samples.values[loss.sel(ridge=small).fillna(-np.inf).values.argmax(axis=0)] / cube.sizes["site"]
    large = loss.sel(ridge=~small)
    found = {
        "first": np.min(peaks), "last": np.max(peaks), "starts": float(cube.converged.notnull().sum()),
        "rise": 100.0 * (float((large.max("samples") / large.isel(samples=0)).max()) - 1.0) if large.size else np.nan,
    }  # fmt: skip
    found["failed"] = float((cube.converged == 0).sum())
    for name, distance in zip(("near", "far"), cube.distance.values[[0, -1]], strict=True):
        part = cube.sel(distance=distance)
        for key, variable in (("gap", "objective"), ("loss", "test_loss")):
            ends = part[variable].where((part.converged == 1) & (in_equilibrium(part) == 1))
            # Both starts.
            spread = (ends.max("start") - ends.min("start")).where(ends.notnull().all("start"))
            found[f"{name}_{key}"] = float(spread.max())
    return found


def _other_minima(axes, part, name, color):
    """A dot for each start that converged to a larger objective than the chosen one."""
    other = part[name].where((part.converged == 1) & (part.start != part.chosen) & (in_equilibrium(part) == 1))
    for start in other.transpose("start", "replica", "samples").values:
        for values in start:
            axes.plot(part.samples, values, ".", color=color, markersize=2.5, alpha=0.6)


def _power(ridge):
    mantissa, exponent = f"{ridge:.0e}".split("e")
    return f"{int(exponent)}" if mantissa == "1" else f"{float(ridge)}"
