"""Two heads that split the embedding: overlaps by state evolution and GAMP against the number of samples."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    DOTS,
    KEY,
    LAYER_COLORS,
    NARROW,
    curve,
    house_style,
    legend_below,
    new_figure,
    present,
    say_why,
    sound_mean,
)
from attention_limits.sequence_multi_index.figures.shared import NOT_SETTLED, draw_layer


@house_style
def draw(cubes):
    """Overlaps of both heads from the cube heads_split; dashed those of heads_fixed_readout, which read the whole embedding."""
    cube = cubes["heads_split"]
    model = specifications(cube)["gamp"]
    theory, gamp = (cube.sel(estimator=name) for name in ("state_evolution", "gamp"))
    figure, axes = new_figure(1, 1, NARROW, 3.8)
    for head, weight in enumerate(model["model"]["readout"], start=1):
        draw_layer(axes, theory, gamp, head, (f"head {head}, weight {weight:g}", None), **DOTS)
        _whole(axes, cubes["heads_fixed_readout"], head)
    say_why(axes, NOT_SETTLED)
    axes.plot([], [], "--", color=KEY, linewidth=0.9, label="each head reads the whole embedding")
    axes.plot([], [], "o", color=KEY, label=f"GAMP, $D = {model['solver']['dimension']}$")
    low, high = (float(end(theory.alpha)) for end in (np.min, np.max))
    axes.set(
        xlabel=r"samples per dimension $\alpha = n/D$",
        ylabel="overlap with the teacher $Q$",
        xlim=(0.8 * low, high + 0.2 * low),
        ylim=(-0.03, None),
    )
    legend_below(figure, axes, ncols=2)
    return figure


def _whole(axes, cube, head):
    """State evolution of a head that reads all dimensions, dashed and without a band."""
    cube = cube.squeeze("estimator", drop=True) if "estimator" in cube.dims else cube
    overlap = present(cube.overlap.sel(layer=head, layer_star=head, drop=True).transpose("alpha", "replica"))
    flags = passed(cube, "overlap").sel(alpha=overlap.alpha).transpose("alpha", "replica").values
    curve(axes, overlap.alpha.values, overlap.values, LAYER_COLORS[head], None, "--", flags, linewidth=0.9, **DOTS)


def numbers(cubes):
    """The dimension of the data; where GAMP differs most from the theory of the first head: difference, its error, alpha."""
    cube, pair = cubes["heads_split"], {"layer": 1, "layer_star": 1, "drop": True}
    theory, gamp = (cube.sel(estimator=name) for name in ("state_evolution", "gamp"))
    (line, width), (relative, error) = (
        sound_mean(
            values.sel(**pair).transpose("alpha", "replica"), passed(part, "overlap").transpose("alpha", "replica")
        )[:2]
        for part, values in ((theory, theory.overlap), (gamp, gamp.overlap / gamp.teacher_norm))
    )
    alpha, known = cube.alpha.values, np.isfinite(line)
    if known.any():
        line, width = (np.interp(alpha, alpha[known], part[known], left=np.nan, right=np.nan) for part in (line, width))
    apart = relative - line
    place = int(np.nanargmax(np.abs(apart))) if np.isfinite(apart).any() else 0
    return {
        "dimension": specifications(cube)["gamp"]["solver"]["dimension"],
        "apart": float(apart[place]),
        "apart_error": float(np.hypot(width, error)[place]),
        "apart_alpha": float(alpha[place]),
    }
