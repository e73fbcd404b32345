"""Learning curve of three-layer attention: overlaps against samples per dimension."""

from attention_limits.pipeline.readings import specifications
from attention_limits.plotting import (
    LAYER_COLORS,
    PUBLISHED,
    curve,
    house_style,
    new_figure,
    points,
    present,
    realised_alpha,
    shade_phases,
)
from attention_limits.sequence_multi_index.figures.published import FIG3_OVERLAPS
from attention_limits.sequence_multi_index.readings import layer_threshold


@house_style
def draw(cubes):
    """Overlaps of the three layers from the cube fig3_three_layers, thresholds from fig3_staircase."""
    cube, onset = cubes["fig3_three_layers"], cubes["fig3_staircase"]
    model = specifications(cube)["gamp"]
    dimension = model["solver"]["dimension"]
    figure, axes = new_figure(1, 1, 5.6, 4.0)
    theory, gamp = (cube.sel(estimator=name) for name in ("state_evolution", "gamp"))
    for layer in (3, 1, 2):
        color = LAYER_COLORS[layer]
        name = f"$Q_{{{layer}{layer}}}$"
        overlap = present(theory.overlap.sel(layer=layer, layer_star=layer))
        reached = theory.converged.sel(alpha=overlap.alpha)
        curve(axes, overlap.alpha.values, overlap.values, color, f"{name}, state evolution", converged=reached.values)
        norm = cube.teacher_norm.sel(layer=layer, layer_star=layer)
        relative = present(gamp.overlap.sel(layer=layer, layer_star=layer) / norm)
        converged = gamp.converged.sel(alpha=relative.alpha)
        points(
            axes,
            realised_alpha(gamp, relative.alpha),
            relative.values,
            converged.values,
            color,
            f"{name}, GAMP $D={dimension}$",
        )
        axes.plot(FIG3_OVERLAPS[:, 0], FIG3_OVERLAPS[:, layer], **PUBLISHED, label="published" if layer == 2 else None)
    order = (3, 1, 2)
    boundaries = [float(layer_threshold(onset, layer).mean()) for layer in order]
    names = ("nothing", "layer 3 learnt", "and layer 1", "all three")
    shade_phases(axes, boundaries, names, order, 0.0, 2.0)
    axes.set(
        xlabel=r"samples per dimension $\alpha = n/D$",
        ylabel="overlap with the teacher $Q$",
        xlim=(0, 2.03),
        ylim=(-0.03, 1.08),
    )
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.98), fontsize=6.5)
    return figure
