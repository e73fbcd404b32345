"""Masked-token learning of Potts data: losses by epoch, by number of sequences, and between factored and position-free."""

from attention_limits.pipeline.readings import specifications
from attention_limits.plotting import house_style, new_figure
from attention_limits.potts_mlm.figures.shared import (
    LEARNER_COLORS,
    equilibrium_note,
    level,
    of_chosen,
    series,
    settled,
)

_OPTIMIZERS = {"sgd": (":", "SGD"), "adam": ("-", "Adam")}


@house_style
def draw(cubes):
    """One row per distance from the cube fig2."""
    cube = cubes["fig2"]
    solver = specifications(cube)["mixed_attention"]["solver"]
    largest = int(cube.transformer_test_loss.dropna("samples", how="all").samples.max())
    figure, rows = new_figure(len(cube.distance), 3, 10.0, 2.9 * len(cube.distance) + 0.8, squeeze=False)
    for distance, (left, middle, right) in zip(cube.distance.values, rows, strict=True):
        part = cube.sel(distance=distance)
        ridge = part.ridge.values[0]
        factored = of_chosen(part, "test_loss").sel(ridge=ridge)
        fitted = settled(part).sel(ridge=ridge)
        for kind in factored.attention.values:
            color = LEARNER_COLORS["factored", str(kind)]
            name = f"factored, {kind}"
            level(left, float(factored.sel(attention=kind, samples=largest).mean()), name, color=color, linestyle="--")
            series(middle, factored.sel(attention=kind), fitted.sel(attention=kind), "samples", color, name)
        for layers in part.layers.values:
            for optimizer, (style, name) in _OPTIMIZERS.items():
                loss = part.transformer_test_loss.sel(layers=layers, optimizer=optimizer).transpose(..., "replica")
                label = f"{layers:g} layer{'s' if layers > 1 else ''}, {name}"
                color = LEARNER_COLORS["transformer", int(layers)]
                series(left, loss.sel(samples=largest), None, "epoch", color, label, linestyle=style)
                trained = part.transformer_converged.sel(layers=layers, optimizer=optimizer)
                series(middle, loss.isel(epoch=-1), trained, "samples", color, label, linestyle=style)
        mixed = of_chosen(part, "mixed_test_loss", "mixed_chosen")
        fitted = settled(part, "mixed_")
        for kind in mixed.attention.values:
            color = LEARNER_COLORS["factored", str(kind)]
            series(right, mixed.sel(attention=kind), fitted.sel(attention=kind), "mixing", color, f"{kind} attention")
        for axes in (left, middle, right):
            level(axes, float(part.optimal_loss.mean()), "optimal", color="#009E73", linewidth=1.6)
        level(right, float(part.independent_loss.sel(samples=largest).mean()), "independent sites", linestyle="-.")
        level(left, float(part.independent_loss.sel(samples=largest).mean()), "independent sites", linestyle="-.")
        left.set(xlabel=f"epochs (M = {largest})", ylabel="test loss per site (nats)")
        left.set_title(equilibrium_note(cube, distance), loc="left")
        middle.set(xlabel="training sequences $M$", xscale="log", yscale="log")
        right.set(xlabel=f"weight $a$ of the colour (M = {solver['samples']})")
    figure.legend(*rows[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=8)
    rows[0][2].legend()
    return figure
