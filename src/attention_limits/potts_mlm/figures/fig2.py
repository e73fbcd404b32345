"""Masked-token learning of Potts data: excess loss by epoch, by number of sequences, and between factored and position-free."""

from attention_limits.pipeline.readings import specifications
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


@house_style
def draw(cubes):
    """One row per cube and distance; all losses are above the loss of the true conditionals on the same test sequences."""
    parts = rows_of(cubes)
    figure, rows = new_figure(len(parts), 3, 10.5, 2.9 * len(parts) + 0.8, squeeze=False)
    for (cube, distance), (left, middle, right) in zip(parts, rows, strict=True):
        part = cube.sel(distance=distance).isel(ridge=0)
        largest = int(part.factored_test_loss.dropna("samples", how="all").samples.max())
        _by_epoch(left, part.sel(samples=largest))
        _by_samples(middle, part)
        _by_mixing(right, part)
        independent = (part.independent_loss.sel(samples=largest) - part.optimal_loss).mean()
        for axes in (left, middle, right):
            level(axes, float(independent), "independent sites", linestyle="-.")
            axes.set(yscale="log")
        left.set(xlabel=f"epochs (M = {largest})", ylabel="excess test loss per site (nats)")
        note = f"{couplings_name(cube)}, optimal loss {float(part.optimal_loss.mean()):.3f}"
        left.set_title(f"{note}\n{equilibrium_note(cube, distance)}", loc="left")
        middle.set(xlabel="training sequences $M$", xscale="log")
        right.set(xlabel=r"weight $a$ of the colour" + _samples_of_mixed(cube))
    handles = {}
    for axes in rows.flat:
        handles.update(dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True)))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    return figure


def _samples_of_mixed(cube):
    mixed = specifications(cube).get("mixed_attention")
    return f" (M = {mixed['solver']['samples']})" if mixed else ": not computed"


def _by_epoch(axes, part):
    level(
        axes, float((part.pseudo_likelihood_loss - part.optimal_loss).mean()), "full pseudo-likelihood",
        color="#009E73", linestyle="--",
    )  # fmt: skip
    for kind in part.attention.values:
        excess = (
            (part.factored_test_loss - part.factored_optimal_loss).sel(attention=kind).transpose("epoch", "replica")
        )
        series(axes, excess, None, "epoch", LEARNER_COLORS["factored", str(kind)], f"factored, {kind}")
    excess = part.transformer_test_loss - part.transformer_optimal_loss
    for layers in layers_of(part):
        for optimizer, (style, name) in OPTIMIZER_LOOKS.items():
            one = excess.sel(layers=layers, optimizer=optimizer).transpose("epoch", "replica")
            color = LEARNER_COLORS["transformer", int(layers)]
            series(axes, one, None, "epoch", color, f"{layers_name(layers)}, {name}", linestyle=style)


def _by_samples(axes, part):
    fitted, excess = settled(part), of_chosen(part, "test_loss") - part.optimal_loss
    for kind in part.attention.values:
        one = excess.sel(attention=kind).transpose("samples", "replica")
        color = LEARNER_COLORS["factored", str(kind)]
        series(axes, one, fitted.sel(attention=kind), "samples", color, f"factored, {kind}")
    full = (part.pseudo_likelihood_loss - part.optimal_loss).transpose("samples", "replica")
    series(axes, full, part.pseudo_likelihood_converged, "samples", "#009E73", "full pseudo-likelihood", linestyle="--")
    excess = part.transformer_test_loss.dropna("epoch", how="all") - part.transformer_optimal_loss
    for layers in layers_of(part):
        for optimizer, (style, name) in OPTIMIZER_LOOKS.items():
            one = excess.isel(epoch=-1).sel(layers=layers, optimizer=optimizer).transpose("samples", "replica")
            color = LEARNER_COLORS["transformer", int(layers)]
            series(axes, one, None, "samples", color, f"{layers_name(layers)}, {name}", linestyle=style)


def _by_mixing(axes, part):
    if "mixed_test_loss" not in part:
        axes.set_visible(False)
        return
    excess, fitted = of_chosen(part, "mixed_test_loss", "mixed_chosen") - part.optimal_loss, settled(part, "mixed_")
    for kind in excess.attention.values:
        one = excess.sel(attention=kind).transpose("mixing", "replica")
        color = LEARNER_COLORS["factored", str(kind)]
        series(axes, one, fitted.sel(attention=kind), "mixing", color, f"factored, {kind}")
