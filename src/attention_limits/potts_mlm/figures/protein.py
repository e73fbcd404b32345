"""Contacts, losses and generated sequences of a protein family."""

import numpy as np
import xarray as xr
from matplotlib.colors import LogNorm

from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import (
    COLORS,
    PURPLE,
    WIDE,
    house_style,
    legend_below,
    new_figure,
    ordered_colors,
    say_why,
)
from attention_limits.potts_mlm.figures.shared import LEARNER_COLORS, contact_map, layers_name, level, series
from attention_limits.potts_mlm.readings import of_chosen

# Entry of the open circles.
NOT_CONVERGED = "one split, fit not converged"


@house_style
def draw(cubes):
    """From the cube protein: contact map, precision by rank and by M, test loss, one- and two-site statistics."""
    cube = cubes["protein"]
    structure = specifications(cube)["multihead_attention"]["model"]
    largest = float(cube.samples.max())
    heads = [int(value) for value in cube.heads.values]
    names = {value: _name(value, cube.sizes["color"]) for value in heads}
    # Ordered colours for the numbers of heads, black for the last one, full pseudo-likelihood.
    colors = dict(zip(heads, (*ordered_colors(range(len(heads)))[:-1], COLORS["bayes"]), strict=True))
    figure, rows = new_figure(2, 3, WIDE, 7.4)
    (maps, by_rank, by_samples), (losses, sites, pairs) = rows
    _map(maps, cube.sel(samples=largest), structure, heads, names)
    for value in heads:
        part = cube.sel(heads=value)
        curve = part.precision.sel(samples=largest).mean("replica").dropna("rank")
        by_rank.plot(curve["rank"], curve, color=colors[value], label=names[value])
        # The points are those of the spectral start: whether it converged is their only flag.
        fitted = of_chosen(part, "pair_converged", "pair_chosen")
        length = min(cube.sizes["site"], int(cube["rank"].max()))
        for axes, array in (
            (by_samples, part.precision.sel(rank=length)),
            (losses, of_chosen(part, "pair_test_loss", "pair_chosen")),
        ):
            replicas = array.transpose("samples", "replica")
            series(axes, replicas, fitted, "samples", colors[value], None, jump=None, linewidth=1.0)
    _others(cube, length, (by_rank, by_samples, losses))
    say_why((by_samples, losses), NOT_CONVERGED)
    chance = _chance(cube, structure)
    for axes in (by_rank, by_samples):
        level(axes, chance, "chance", linestyle=":")
        axes.set(ylim=(0, 1.02), ylabel="fraction of contacts")
    independent = cube.independent_test_loss.sel(heads=heads[0]).transpose("samples", "replica")
    losses.plot(
        independent.samples, independent.mean("replica"), color="0.4", linestyle="-.", label="independent sites"
    )
    by_rank.axvline(cube.sizes["site"], color="0.8", linewidth=0.8, zorder=0)
    by_rank.set(xlabel="pairs of highest score $k$")
    by_samples.set(xscale="log", xlabel="training sequences $M$")
    by_samples.set_title(f"first $k = {length}$ pairs")
    losses.set(xscale="log", xlabel="training sequences $M$", ylabel="test loss per site (nats)")
    # Only the sizes that were computed; a label that would touch the next one is left out.
    sizes = cube.samples.values
    labels = [
        f"{size:g}" if after > 1.6 * size else "" for size, after in zip(sizes, [*sizes[1:], np.inf], strict=True)
    ]
    for axes in (by_samples, losses):
        axes.set_xticks(sizes, labels, fontsize=7)
        axes.set_xticks([], minor=True)
    legend_below(figure, (by_rank, losses), ncols=6)
    _statistics(sites, pairs, figure, cube)
    return figure


def numbers(cubes):
    """At the largest M, means over the splits: fractions of contacts among the first L pairs, test losses (nats); statistics of
    the generated sequences. Missing where the cube has no such model.
    """
    cube = cubes["protein"]
    last, length = cube.sel(samples=float(cube.samples.max())), min(cube.sizes["site"], int(cube["rank"].max()))
    fitted = of_chosen(last, "pair_converged", "pair_chosen") == 1
    precision = last.precision.sel(rank=length).where(fitted).mean("replica")
    loss = of_chosen(last, "pair_test_loss", "pair_chosen").where(fitted).mean("replica")
    found = {"samples": float(last.samples), "length": float(length)}
    for name, heads in (("one", 1), ("many", 64), ("full", int(cube.heads.max()))):
        there = heads in cube.heads
        found[name] = float(precision.sel(heads=heads)) if there else np.nan
        found[f"{name}_loss"] = float(loss.sel(heads=heads)) if there else np.nan
    for name, layers in (("layer", 1), ("layers", 3)):
        part = last.sel(layers=layers) if layers in cube.layers else None
        found[name] = float(part.encoder_precision.sel(rank=length).mean("replica")) if part else np.nan
        found[f"{name}_loss"] = float(part.encoder_test_loss.isel(epoch=-1).mean("replica")) if part else np.nan
    symmetric = last.symmetric_precision.sel(rank=length).where(last.symmetric_converged == 1).mean("replica")
    generated = _generated(cube)
    return found | {
        "symmetric": float(symmetric), "independent_loss": float(last.independent_test_loss.isel(heads=0).mean("replica")),
        "slope": float(generated.generated_pair_slope), "r": float(generated.generated_pair_correlation),
        "held_out": float(generated.held_out_pair_correlation),
        "chance": _chance(cube, specifications(cube)["multihead_attention"]["model"]),
    }  # fmt: skip


def _others(cube, length, axes):
    """The symmetric fit and the transformers: precision by rank at the largest M, precision of `length` pairs and loss by M."""
    by_rank, by_samples, losses = axes
    # A training ends after its epochs, so it has no flag.
    trained = xr.ones_like(cube.replica, dtype=float)
    models = [
        (
            "symmetric plmDCA", PURPLE, ":", "s", cube.symmetric_precision, cube.symmetric_test_loss, cube.symmetric_converged,
        )
    ]  # fmt: skip
    for layers in cube.layers.values:
        part = cube.sel(layers=layers)
        color, loss = LEARNER_COLORS["transformer", int(layers)], part.encoder_test_loss.isel(epoch=-1)
        models.append((f"transformer, {layers_name(layers)}", color, "--", "^", part.encoder_precision, loss, trained))
    for name, color, style, marker, precision, loss, fitted in models:
        curve = precision.sel(samples=float(cube.samples.max())).mean("replica").dropna("rank")
        by_rank.plot(curve["rank"], curve, color=color, linestyle=style, label=name)
        for panel, array in ((by_samples, precision.sel(rank=length)), (losses, loss)):
            array = array.transpose("samples", "replica")
            series(
                panel,
                array,
                fitted,
                "samples",
                color,
                None,
                jump=None,
                linewidth=1.0,
                linestyle=style,
                marker=marker,
            )


def _name(heads, colors):
    if heads >= colors**2:
        return "full (plmDCA)"
    return "fields alone" if heads == 0 else f"{heads} head{'s' if heads > 1 else ''}"


def _counted(cube, structure):
    """Pairs i < j of known distance and sufficient separation: truth array (site, site_other)."""
    column = _one(cube.column)
    apart = column[None, :] - column[:, None] >= structure["separation"]
    return apart & np.isfinite(_one(cube.pair_distance))


def _chance(cube, structure):
    distance, counted = _one(cube.pair_distance), _counted(cube, structure)
    return float(np.mean(distance[counted] < structure["contact"])) if counted.any() else np.nan


def _one(array):
    """The values of the first replica; the reader gives all replicas the same."""
    return array.isel(replica=0).values


def _map(axes, cube, structure, heads, names):
    """Known contacts, and the first L pairs of two models: the largest above, the smallest with heads below the diagonal."""
    distance, counted = _one(cube.pair_distance), _counted(cube, structure)
    known = np.where(np.isfinite(distance), distance < structure["contact"], np.nan)
    shown, chosen = (max(heads), min(value for value in heads if value > 0)), []
    for value in shown:
        scores = np.where(counted, _one(cube.contact_score.sel(heads=value)), -np.inf)
        order = np.argsort(-scores, axis=None, kind="stable")[: min(len(distance), int(counted.sum()))]
        chosen.append(np.unravel_index(order, scores.shape))
    contact_map(axes, known, chosen, 4)
    axes.set_title(f"above: {names[shown[0]]}; below: {names[shown[1]]}")


def _generated(cube):
    """The part of the cube with generated sequences."""
    part = cube.isel(replica=0).dropna("samples", how="all", subset=["pair_histogram"])
    return part.dropna("heads", how="all", subset=["pair_histogram"]).isel(samples=-1, heads=-1)


def _statistics(sites, pairs, figure, cube):
    part = _generated(cube)
    flagged = "" if float(part.generated_converged) == 1 and float(part.fit_converged) == 1 else ", not converged"
    sites.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
    sites.plot(
        part.training_frequency.values.ravel(), part.generated_frequency.values.ravel(), ".", color="k", markersize=3
    )
    sites.set(xlabel="site frequency, alignment", ylabel="site frequency, generated")
    sites.set_title(f"$r = {float(part.generated_site_correlation):.3f}${flagged}")
    histogram = part.pair_histogram.values
    bins = part.bin.values
    edge = 0.5 * (bins[1] - bins[0])
    limits = (bins[0] - edge, bins[-1] + edge)
    image = pairs.imshow(
        np.where(histogram > 0, histogram, np.nan).T,
        norm=LogNorm(),
        origin="lower",
        extent=(*limits, *limits),
        cmap="viridis",
    )
    pairs.plot(limits, limits, color="0.7", linewidth=0.8)
    pairs.set(xlabel="two-site correlation, alignment", ylabel="two-site correlation, generated")
    slope, expected = float(part.generated_pair_slope), float(part.held_out_pair_correlation)
    pairs.set_title(
        f"$r = {float(part.generated_pair_correlation):.2f}$, slope {slope:.2f}; held out: $r = {expected:.2f}$",
    )
    figure.colorbar(image, ax=pairs, label="pairs of sites and colours", shrink=0.85)
