"""Learning curve of three-layer attention: overlaps and errors against samples per dimension."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    KEY,
    LAYER_COLORS,
    NARROW,
    house_style,
    legend_below,
    new_figure,
    published_points,
    shade_phases,
)
from attention_limits.sequence_multi_index.figures.papers.published import FIG3_ERRORS, FIG3_OVERLAPS
from attention_limits.sequence_multi_index.figures.shared import draw_errors, draw_layer
from attention_limits.sequence_multi_index.readings import layer_threshold

# A layer counts as known above this overlap.
_KNOWN = 0.99


@house_style
def draw(cubes):
    """Overlaps of the three layers (top) and errors (bottom) from the cube fig3_three_layers, thresholds from fig3_staircase."""
    cube, onset = cubes["fig3_three_layers"], cubes["fig3_staircase"]
    model = specifications(cube)["gamp"]
    dimension = model["solver"]["dimension"]
    figure, (axes, bottom) = new_figure(2, 1, NARROW, 6.0, sharex=True, height_ratios=(3, 2))
    theory, gamp = (cube.sel(estimator=name) for name in ("state_evolution", "gamp"))
    for layer in (3, 1, 2):
        name = f"$Q_{{{layer}{layer}}}$"
        draw_layer(axes, theory, gamp, layer, (f"{name}, state evolution", None))
        published_points(axes, FIG3_OVERLAPS[:, 0], FIG3_OVERLAPS[:, layer], color=LAYER_COLORS[layer])
    axes.plot([], [], "o", color=KEY, markersize=4, label=f"GAMP, $D = {dimension}$")
    published_points(axes, [], [], label="published")
    order = (3, 1, 2)
    boundaries = [float(layer_threshold(onset, layer).mean()) for layer in order]
    names = ("nothing", "layer 3 learned", "and layer 1", "all three")
    shade_phases(axes, boundaries, names, order, 0.0, 2.0)
    shade_phases(bottom, boundaries, ("",) * 4, order, 0.0, 2.0)
    draw_errors(bottom, theory, gamp)
    published_points(bottom, *FIG3_ERRORS.T, label="published")
    axes.set(ylabel="overlap with the teacher $Q$", xlim=(0, 2.03), ylim=(-0.03, 1.08))
    bottom.set(
        xlabel=r"samples per dimension $\alpha = n/D$", ylabel="generalisation error", yscale="log", ylim=(1e-3, 1)
    )
    legend_below(figure, (axes, bottom), ncols=2)
    return figure


def numbers(cubes):
    """The thresholds of the three layers, and from which alpha on all of them are known in state evolution.

    At the largest alpha of GAMP, the share of its data sets that converge, in per cent, and the least mean overlap of a layer.
    """
    found = {f"alpha_{layer}": float(layer_threshold(cubes["fig3_staircase"], layer).mean()) for layer in (1, 2, 3)}
    theory, gamp = (cubes["fig3_three_layers"].sel(estimator=name) for name in ("state_evolution", "gamp"))
    least, least_gamp = (
        _least_overlap(values.where(passed(part, "overlap") == 1).mean("replica"))
        for part, values in ((theory, theory.overlap), (gamp, gamp.overlap / gamp.teacher_norm))
    )
    below = least.alpha.where(least < _KNOWN).max()
    settled = (
        gamp.converged.where(gamp.overlap.isel(layer=0, layer_star=0).notnull())
        .dropna("alpha", how="all")
        .isel(alpha=-1)
    )
    return found | {
        "known": float(least.alpha.where(least.alpha > below).min()),
        "last": float(settled.alpha),
        "settled": 100.0 * float(settled.mean()),
        "least": float(least_gamp.reindex(alpha=[settled.alpha.item()])[0]),
    }


def _least_overlap(overlap):
    """The smallest overlap of a layer with its own teacher at each alpha that has one."""
    own = [overlap.sel(layer=layer, layer_star=layer, drop=True) for layer in (1, 2, 3)]
    return np.minimum(np.minimum(*own[:2]), own[2]).dropna("alpha")
