"""The published learning curves of two and three layers beside the model itself and a regularised channel."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    KEY,
    LAYER_COLORS,
    MIDDLE,
    curve,
    house_style,
    legend_below,
    new_figure,
    present,
    published_points,
    say_why,
    theory_points,
)
from attention_limits.sequence_multi_index.figures.papers.published import FIG1_OVERLAPS, FIG3_OVERLAPS
from attention_limits.sequence_multi_index.figures.shared import NOT_SETTLED

REGULARIZED = r"$\epsilon = 10^{-3}$ added to $V$"


@house_style
def draw(cubes):
    """Two layers from fig1_learning_curve and fig1_regularized (left), three from fig3_three_layers and fig3_regularized."""
    figure, (left, right) = new_figure(1, 2, MIDDLE, 3.8, sharey=True)
    for layer in (2, 1):
        _model(left, cubes["fig1_learning_curve"], layer, FIG1_OVERLAPS)
        regularized = present(cubes["fig1_regularized"].overlap.sel(layer=layer, layer_star=layer))
        flags = passed(cubes["fig1_regularized"], "overlap").sel(alpha=regularized.alpha).values
        theory_points(left, regularized.alpha.values, regularized.values, flags, LAYER_COLORS[layer])
    left.plot([], [], "_", color=KEY, markersize=9, markeredgewidth=1.6, label=REGULARIZED)
    published_points(left, [], [], label="published")
    three = cubes["fig3_regularized"]
    for layer in (3, 2, 1):
        _model(right, cubes["fig3_three_layers"], layer, FIG3_OVERLAPS)
        regularized = present(three.overlap.sel(layer=layer, layer_star=layer))
        flags = passed(three, "overlap").sel(alpha=regularized.alpha).values
        theory_points(right, regularized.alpha.values, regularized.values, flags, LAYER_COLORS[layer])
    for axes, largest, title in ((left, 1.6, "two layers"), (right, 2.03, "three layers")):
        axes.set(xlabel=r"samples per dimension $\alpha = n/D$", xlim=(0, largest), ylim=(-0.03, 1.05), title=title)
    say_why((left, right), NOT_SETTLED)
    legend_below(figure, (right, left), ncols=5)
    left.set(ylabel=r"overlap with the teacher $Q$")
    return figure


def numbers(cubes):
    """Largest distance of the published overlaps from the channel with the constant, and by how much they lie below it."""
    two = _distances(cubes["fig1_regularized"], FIG1_OVERLAPS)
    three = _distances(cubes["fig3_regularized"], FIG3_OVERLAPS)
    return {"two": np.max(np.abs(two), initial=-np.inf), "three": np.max(-three, initial=-np.inf)}


def _distances(cube, published):
    """Published minus computed overlap of all layers, at the alphas that both have."""
    found = []
    for layer in cube.layer.values:
        mean = cube.overlap.sel(layer=layer, layer_star=layer).where(passed(cube, "overlap") == 1).mean("replica")
        for alpha, value in zip(mean.alpha.values, mean.values, strict=True):
            found += list(published[np.isclose(published[:, 0], alpha, atol=1e-4), layer] - value)
    return np.array([distance for distance in found if np.isfinite(distance)])


def _name(layer):
    return f"$Q_{{{layer}{layer}}}$"


def _model(axes, cube, layer, published):
    """State evolution of the model as a line, the published overlaps as crosses."""
    theory = cube.sel(estimator="state_evolution")
    overlap = present(theory.overlap.sel(layer=layer, layer_star=layer))
    flags = passed(theory, "overlap").sel(alpha=overlap.alpha).values
    curve(axes, overlap.alpha, overlap.values, LAYER_COLORS[layer], f"{_name(layer)}, model", flags=flags)
    published_points(axes, published[:, 0], published[:, layer], color=LAYER_COLORS[layer])
