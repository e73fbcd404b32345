"""Learning curve of three-layer attention: overlaps and errors against samples per dimension."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    COLORS,
    LAYER_COLORS,
    NARROW,
    PUBLISHED,
    curve,
    house_style,
    new_figure,
    points,
    present,
    realised_alpha,
    shade_phases,
)
from attention_limits.sequence_multi_index.figures.papers.published import FIG3_ERRORS, FIG3_OVERLAPS
from attention_limits.sequence_multi_index.readings import layer_threshold


@house_style
def draw(cubes):
    """Overlaps of the three layers (top) and errors (bottom) from the cube fig3_three_layers, thresholds from fig3_staircase."""
    cube, onset = cubes["fig3_three_layers"], cubes["fig3_staircase"]
    model = specifications(cube)["gamp"]
    dimension = model["solver"]["dimension"]
    figure, (axes, bottom) = new_figure(2, 1, NARROW, 6.0, sharex=True, height_ratios=(3, 2))
    theory, gamp = (cube.sel(estimator=name) for name in ("state_evolution", "gamp"))
    for layer in (3, 1, 2):
        color = LAYER_COLORS[layer]
        name = f"$Q_{{{layer}{layer}}}$"
        overlap = present(theory.overlap.sel(layer=layer, layer_star=layer))
        reached = passed(theory, "overlap").sel(alpha=overlap.alpha)
        curve(axes, overlap.alpha.values, overlap.values, color, f"{name}, state evolution", flags=reached.values)
        norm = cube.teacher_norm.sel(layer=layer, layer_star=layer)
        relative = present(gamp.overlap.sel(layer=layer, layer_star=layer) / norm)
        converged = passed(gamp, "overlap").sel(alpha=relative.alpha)
        points(
            axes,
            realised_alpha(gamp, relative.alpha),
            relative.values,
            converged.values,
            color,
            f"{name}, GAMP $D={dimension}$",
        )
        axes.plot(
            FIG3_OVERLAPS[:, 0], FIG3_OVERLAPS[:, layer], **{**PUBLISHED, "color": color}, label=f"{name}, published"
        )
    order = (3, 1, 2)
    boundaries = [float(layer_threshold(onset, layer).mean()) for layer in order]
    names = ("nothing", "layer 3 learned", "and layer 1", "all three")
    shade_phases(axes, boundaries, names, order, 0.0, 2.0)
    shade_phases(bottom, boundaries, ("",) * 4, order, 0.0, 2.0)
    _draw_errors(bottom, theory, gamp)
    bottom.plot(*FIG3_ERRORS.T, **PUBLISHED, label="published")
    axes.set(ylabel="overlap with the teacher $Q$", xlim=(0, 2.03), ylim=(-0.03, 1.08))
    bottom.set(
        xlabel=r"samples per dimension $\alpha = n/D$", ylabel="generalisation error", yscale="log", ylim=(1e-3, 1)
    )
    figure.legend(*_by_layer(*axes.get_legend_handles_labels()), loc="outside lower center", ncols=3)
    bottom.legend(loc="lower left")
    return figure


def _by_layer(handles, labels):
    """The entries of a legend in one column for each layer."""
    order = sorted(range(len(labels)), key=lambda entry: labels[entry].partition(",")[0])
    return [handles[entry] for entry in order], [labels[entry] for entry in order]


def _draw_errors(axes, theory, gamp):
    """Both errors of the state evolution as lines, the plug-in error of GAMP as points."""
    for name, label, style in (("bayes", "posterior mean", "-"), ("plug_in", "plug-in", "--")):
        error = present(theory[f"error_{name}"])
        floor, flags = np.maximum(error.values, 1e-5), passed(theory, f"error_{name}").sel(alpha=error.alpha).values
        curve(axes, error.alpha, floor, COLORS[name], f"{label}, state evolution", style, flags)
    simulated = present(gamp.error_plug_in)
    converged = passed(gamp, "error_plug_in").sel(alpha=simulated.alpha).values
    alpha = realised_alpha(gamp, simulated.alpha)
    points(axes, alpha, simulated.values, converged, COLORS["plug_in"], "plug-in, GAMP")
