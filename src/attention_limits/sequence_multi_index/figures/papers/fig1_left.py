"""Learning curve of two-layer attention: overlaps and error against samples per dimension."""

from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    KEY,
    LAYER_COLORS,
    NARROW,
    house_style,
    legend_below,
    new_figure,
    present,
    published_points,
    shade_phases,
    theory_points,
)
from attention_limits.sequence_multi_index.figures.papers.published import FIG1_AMP_OVERLAPS, FIG1_ERRORS, FIG1_OVERLAPS
from attention_limits.sequence_multi_index.figures.shared import draw_errors, draw_layer
from attention_limits.sequence_multi_index.readings import layer_threshold, layer_threshold_and_error


@house_style
def draw(cubes):
    """Overlaps (top), overlaps with side information (middle) and errors (bottom), from the cubes fig1_*."""
    cube, onset = cubes["fig1_learning_curve"], cubes["fig1_onset"]
    parts = specifications(cube)
    model, dimension = parts["gamp"]["model"], parts["gamp"]["solver"]["dimension"]
    here = onset.sel(skip=model["skip"])
    figure, (top, middle, bottom) = new_figure(3, 1, NARROW, 8.4, sharex=True, height_ratios=(3, 2, 2))
    _draw_overlaps(top, cube, dimension)
    _draw_aided(middle, cubes["fig1_side_information"])
    draw_errors(bottom, *(cube.sel(estimator=name) for name in ("state_evolution", "gamp")))
    # The published curves are for this model alone.
    if model["skip"] == 1.0 and model["beta"] == 1.0:
        for layer in (1, 2):
            name, runs = ("published", "published GAMP (standard deviation)") if layer == 1 else (None, None)
            published_points(top, FIG1_OVERLAPS[:, 0], FIG1_OVERLAPS[:, layer], label=name)
            values = FIG1_AMP_OVERLAPS[:, [0, 2 * layer - 1, 2 * layer]]
            published_points(top, *values.T, color=LAYER_COLORS[layer], label=runs)
        published_points(bottom, *FIG1_ERRORS.T, label="published")
    boundaries = [float(layer_threshold(here, layer).mean()) for layer in (2, 1)]
    shade_phases(top, boundaries, ("nothing", "layer 2 learned", "both layers learned"), (2, 1), 0.0, 1.6)
    middle.set(ylabel="overlap $Q$", ylim=(0.4, 1.05))
    shade_phases(bottom, boundaries, ("", "", ""), (2, 1), 0.0, 1.6)
    top.set(ylabel=r"overlap with the teacher $Q$", ylim=(-0.03, 1.08), xlim=(0, 1.6))
    bottom.set(
        xlabel=r"samples per dimension $\alpha = n/D$", ylabel="generalisation error", yscale="log", ylim=(1e-4, 1)
    )
    legend_below(figure, (top, bottom), ncols=2, key=lambda name: "published" in name)
    return figure


def numbers(cubes):
    """The thresholds of both layers, with their errors, and the largest difference of the overlaps between both starts.

    By state evolution the plug-in error at published alphas, and the overlap of layer 1 where the published one begins to differ.
    """
    cube = cubes["fig1_learning_curve"]
    here = cubes["fig1_onset"].sel(skip=specifications(cube)["gamp"]["model"]["skip"])
    found = {f"alpha_{layer}": layer_threshold_and_error(here, layer) for layer in (1, 2)}
    values = {name: float(mean) for name, (mean, _) in found.items()}
    values |= {f"{name}_error": float(error) for name, (_, error) in found.items()}
    starts = [cube.sel(estimator=name) for name in ("state_evolution", "state_evolution_informed")]
    sound = passed(starts[0], "overlap") * passed(starts[1], "overlap") == 1
    gap = abs((starts[1].overlap - starts[0].overlap).where(sound).mean("replica"))
    values |= {"gap": max(float(gap.sel(layer=layer, layer_star=layer).max()) for layer in (1, 2))}
    errors, overlap = (
        starts[0][name].where(passed(starts[0], name) == 1).mean("replica") for name in ("error_plug_in", "overlap")
    )
    values |= {f"plug_in_{tenths}": float(_near(errors, 0.1 * tenths)) for tenths in (5, 7, 9)}
    return values | {"first": float(_near(overlap.sel(layer=1, layer_star=1), FIG1_OVERLAPS[3, 0]))}


def _near(mean, alpha):
    """A mean at the alpha of a published value; NaN where the grid has no such alpha."""
    return mean.reindex(alpha=[alpha], method="nearest", tolerance=1e-3).item()


def _draw_overlaps(axes, cube, dimension):
    """State evolution as lines, its informed start as short dashes, GAMP as points."""
    theory, informed, gamp = (
        cube.sel(estimator=name) for name in ("state_evolution", "state_evolution_informed", "gamp")
    )
    for layer in (2, 1):
        name, row = f"$Q_{{{layer}{layer}}}$", {"layer": layer, "layer_star": layer}
        draw_layer(axes, theory, gamp, layer, (f"{name}: layer {layer}", None))
        above = present(informed.overlap.sel(row))
        flags = passed(informed, "overlap").sel(alpha=above.alpha).values
        theory_points(axes, above.alpha, above.values, flags, LAYER_COLORS[layer])
    axes.plot([], [], "o", color=KEY, markersize=4, label=f"GAMP, $D = {dimension}$")
    axes.plot([], [], "_", color=KEY, markersize=9, markeredgewidth=1.6, label="state evolution, informed start")


def _draw_aided(axes, cube):
    """With side information: state evolution as lines, GAMP as points."""
    theory, gamp = (cube.sel(estimator=name) for name in ("state_evolution", "gamp"))
    given = specifications(cube)["gamp"]["solver"]["side_information"]
    for layer in (2, 1):
        draw_layer(axes, theory, gamp, layer)
    axes.annotate(rf"with side information, $\kappa = {given:g}$", (0.98, 0.08), xycoords="axes fraction", ha="right")
