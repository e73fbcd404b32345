"""Recovery of the couplings by the learners of Figure 2: error by epoch and by number of sequences, precision by epoch."""

import numpy as np

from attention_limits.plotting import house_style, new_figure
from attention_limits.potts_mlm.figures.shared import (
    LEARNER_COLORS,
    OPTIMIZER_LOOKS,
    couplings_name,
    equilibrium_note,
    layers_name,
    layers_of,
    level,
    of_chosen,
    rows_of,
    series,
    settled,
)
from attention_limits.potts_mlm.recovery import chance


@house_style
def draw(cubes):
    """One row per cube and distance."""
    parts = rows_of(cubes)
    figure, rows = new_figure(len(parts), 3, 10.5, 2.9 * len(parts) + 0.8, squeeze=False)
    for (cube, distance), (left, middle, right) in zip(parts, rows, strict=True):
        part = cube.sel(distance=distance).isel(ridge=0)
        largest = int(part.factored_test_loss.dropna("samples", how="all").samples.max())
        _by_epoch(left, part.sel(samples=largest), "site_error")
        _by_samples(middle, part)
        J = part.couplings.transpose("replica", ...).values
        if bool(part.transformer_precision.isnull().all()):
            right.set_visible(False)
        else:
            _by_epoch(right, part.sel(samples=largest), "precision")
            level(right, float(np.mean([chance(one) for one in J])), "chance", linestyle="-.")
        left.set(xlabel=f"epochs (M = {largest})", ylabel=r"error of the couplings $\mathrm{err}_J$", ylim=(0, 1.02))
        middle.set(xlabel="training sequences $M$", xscale="log", ylim=(0, 1.02))
        right.set(xlabel=f"epochs (M = {largest})", ylabel="precision of the contacts", ylim=(0, 1.05))
        left.set_title(f"{couplings_name(cube)}\n{equilibrium_note(cube, distance)}", loc="left")
    handles = {}
    for axes in rows.flat:
        handles.update(dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True)))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    return figure


def _by_epoch(axes, part, name):
    for kind in part.attention.values:
        one = part[f"factored_{name}"].sel(attention=kind).transpose("epoch", "replica")
        series(axes, one, None, "epoch", LEARNER_COLORS["factored", str(kind)], f"factored, {kind}")
    for layers in layers_of(part):
        for optimizer, (style, label) in OPTIMIZER_LOOKS.items():
            one = part[f"transformer_{name}"].sel(layers=layers, optimizer=optimizer).transpose("epoch", "replica")
            color = LEARNER_COLORS["transformer", int(layers)]
            series(axes, one, None, "epoch", color, f"{layers_name(layers)}, {label}", linestyle=style)


def _by_samples(axes, part):
    fitted, error = settled(part), of_chosen(part, "site_error")
    for kind in part.attention.values:
        one = error.sel(attention=kind).transpose("samples", "replica")
        color = LEARNER_COLORS["factored", str(kind)]
        series(axes, one, fitted.sel(attention=kind), "samples", color, f"factored, {kind}")
    by_epoch = part.transformer_site_error.dropna("epoch", how="all")
    for layers in layers_of(part):
        for optimizer, (style, label) in OPTIMIZER_LOOKS.items():
            one = by_epoch.isel(epoch=-1).sel(layers=layers, optimizer=optimizer).transpose("samples", "replica")
            color = LEARNER_COLORS["transformer", int(layers)]
            series(axes, one, None, "samples", color, f"{layers_name(layers)}, {label}", linestyle=style)
