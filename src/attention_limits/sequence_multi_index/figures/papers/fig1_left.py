"""Learning curve of two-layer attention: overlaps and error against samples per dimension."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    COLORS,
    LAYER_COLORS,
    NARROW,
    PUBLISHED,
    curve,
    house_style,
    legend_below,
    new_figure,
    points,
    present,
    published_runs,
    realised_alpha,
    shade_phases,
    theory_points,
)
from attention_limits.sequence_multi_index.figures.papers.published import FIG1_AMP_OVERLAPS, FIG1_ERRORS, FIG1_OVERLAPS
from attention_limits.sequence_multi_index.readings import layer_threshold


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
    _draw_errors(bottom, cube)
    # The published curves are for this model alone.
    if model["skip"] == 1.0 and model["beta"] == 1.0:
        for layer in (1, 2):
            top.plot(
                FIG1_OVERLAPS[:, 0], FIG1_OVERLAPS[:, layer], **PUBLISHED, label="published" if layer == 1 else None
            )
            label = "published GAMP (standard deviation)" if layer == 1 else None
            published_runs(top, FIG1_AMP_OVERLAPS[:, [0, 2 * layer - 1, 2 * layer]], label, LAYER_COLORS[layer])
        bottom.plot(*FIG1_ERRORS.T, **PUBLISHED, label="published")
    boundaries = [float(layer_threshold(here, layer).mean()) for layer in (2, 1)]
    shade_phases(top, boundaries, ("nothing", "layer 2 learned", "both layers learned"), (2, 1), 0.0, 1.6)
    middle.set(ylabel="overlap $Q$", ylim=(0.4, 1.05))
    shade_phases(bottom, boundaries, ("", "", ""), (2, 1), 0.0, 1.6)
    top.set(ylabel=r"overlap with the teacher $Q$", ylim=(-0.03, 1.08), xlim=(0, 1.6))
    bottom.set(
        xlabel=r"samples per dimension $\alpha = n/D$", ylabel="generalisation error", yscale="log", ylim=(1e-4, 1)
    )
    legend_below(figure, (top, bottom), ncols=2)
    return figure


def _draw_overlaps(axes, cube, dimension):
    """State evolution as lines, its informed start as short dashes, GAMP as points."""
    theory, informed, gamp = (
        cube.sel(estimator=name) for name in ("state_evolution", "state_evolution_informed", "gamp")
    )
    for layer in (2, 1):
        color, name, row = LAYER_COLORS[layer], f"$Q_{{{layer}{layer}}}$", {"layer": layer, "layer_star": layer}
        overlap = present(theory.overlap.sel(row))
        reached = passed(theory, "overlap").sel(alpha=overlap.alpha).values
        curve(axes, overlap.alpha.values, overlap.values, color, f"{name}, state evolution", flags=reached)
        # The overlap is compared with the norm of the drawn teacher, which fluctuates around one at finite size.
        relative = present(gamp.overlap.sel(row) / gamp.teacher_norm.sel(row))
        converged = passed(gamp, "overlap").sel(alpha=relative.alpha).values
        alpha = realised_alpha(gamp, relative.alpha)
        points(axes, alpha, relative.values, converged, color, f"{name}, GAMP $D={dimension}$")
        above = present(informed.overlap.sel(row))
        flags = passed(informed, "overlap").sel(alpha=above.alpha).values
        theory_points(axes, above.alpha, above.values, flags, color, f"{name}, informed start")


def _draw_aided(axes, cube):
    """With side information: state evolution as lines, GAMP as points."""
    theory, gamp = (cube.sel(estimator=name) for name in ("state_evolution", "gamp"))
    given = specifications(cube)["gamp"]["solver"]["side_information"]
    for layer in (2, 1):
        color, row = LAYER_COLORS[layer], {"layer": layer, "layer_star": layer}
        overlap = present(theory.overlap.sel(row))
        reached = passed(theory, "overlap").sel(alpha=overlap.alpha).values
        curve(axes, overlap.alpha.values, overlap.values, color, None, flags=reached)
        relative = present(gamp.overlap.sel(row) / gamp.teacher_norm.sel(row))
        converged = passed(gamp, "overlap").sel(alpha=relative.alpha).values
        points(axes, realised_alpha(gamp, relative.alpha), relative.values, converged, color, None)
    axes.annotate(rf"with side information, $\lambda = {given:g}$", (0.98, 0.08), xycoords="axes fraction", ha="right")


def _draw_errors(axes, cube):
    """Both errors of the state evolution as lines, the plug-in error of GAMP as points."""
    theory, gamp = (cube.sel(estimator=name) for name in ("state_evolution", "gamp"))
    for name, label, style in (("bayes", "posterior mean", "-"), ("plug_in", "plug-in", "--")):
        error = present(theory[f"error_{name}"])
        floor = np.maximum(error.values, 1e-5)
        flags = passed(theory, f"error_{name}").sel(alpha=error.alpha).values
        curve(axes, error.alpha, floor, COLORS[name], f"{label}, state evolution", style, flags)
    simulated = present(gamp.error_plug_in)
    converged = passed(gamp, "error_plug_in").sel(alpha=simulated.alpha).values
    alpha = realised_alpha(gamp, simulated.alpha)
    points(axes, alpha, simulated.values, converged, COLORS["plug_in"], "plug-in, GAMP")
