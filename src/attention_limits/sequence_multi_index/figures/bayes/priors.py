"""Learning curves of two-layer attention for four priors of the weights, with the thresholds of weak recovery."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    KEY,
    LAYER_COLORS,
    MIDDLE,
    house_style,
    legend_below,
    mark_threshold,
    new_figure,
    sound_mean,
)
from attention_limits.sequence_multi_index.figures.shared import draw_layer
from attention_limits.sequence_multi_index.readings import jump_and_error, layer_threshold_and_error

PANELS = {
    "fig1_learning_curve": "standard normal",
    "priors_binary": r"binary, $\pm 1$",
    "priors_sparse": "sparse, 0.2 not zero",
    "priors_correlated": "correlated layers, 0.6",
}

# Above this overlap a layer counts as known.
_KNOWN = 0.99


@house_style
def draw(cubes):
    """A panel for each prior: the Gaussian curve from fig1_learning_curve, its thresholds from fig1_thresholds."""
    figure, axes = new_figure(2, 2, MIDDLE, 5.6, sharex=True, sharey=True)
    for panel, (name, title) in zip(axes.ravel(), PANELS.items(), strict=True):
        cube = cubes[name]
        steps = cubes["fig1_thresholds"].sel(skip=[1.0]) if name == "fig1_learning_curve" else cube
        jump, error = (number.item() for number in jump_and_error(steps))
        dimension = _learning_curve(panel, cube, jump)
        if np.isfinite(jump):
            mark_threshold(panel, jump, KEY, error, "(b) jump of both layers")
        thresholds = {layer: layer_threshold_and_error(steps, layer) for layer in (1, 2)}
        _thresholds(panel, thresholds, together=name == "priors_correlated")
        panel.set_title(f"{title} (GAMP: $D = {dimension}$)")
    axes[0, 0].errorbar([], [], [], fmt="o", color=KEY, markersize=4, capsize=2, label="GAMP")
    axes[0, 0].set(xlim=(0.0, 1.25), ylim=(-0.03, 1.05))
    legend_below(figure, axes)
    for panel in axes[1]:
        panel.set_xlabel(r"samples per dimension $\alpha = n/D$")
    for panel in axes[:, 0]:
        panel.set_ylabel("overlap with the teacher")
    return figure


def numbers(cubes):
    """The jump of binary weights; from which alpha on binary and sparse weights of both layers are known: theory and GAMP."""
    found = {"jump": float(jump_and_error(cubes["priors_binary"])[0].item())}
    for name, estimator in (("theory", "state_evolution"), ("gamp", "gamp")):
        found[name] = max(_known_from(cubes[prior], estimator) for prior in ("priors_binary", "priors_sparse"))
    return found


def _known_from(cube, estimator):
    """The alpha from which on the mean overlap of both layers, where there is one, exceeds _KNOWN; NaN if never."""
    part = cube.sel(estimator=estimator)
    sound = passed(part, "overlap").transpose("alpha", "replica").values
    lower = np.full(part.sizes["alpha"], np.inf)
    for layer in (1, 2):
        overlap = part.overlap.sel(layer=layer, layer_star=layer, drop=True)
        if estimator == "gamp":
            overlap = overlap / part.teacher_norm.sel(layer=layer, layer_star=layer, drop=True)
        lower = np.minimum(lower, sound_mean(overlap.transpose("alpha", "replica"), sound)[0])
    computed = np.isfinite(lower)
    alpha, known = part.alpha.values[computed], lower[computed] > _KNOWN
    below = np.flatnonzero(~known)
    first = below[-1] + 1 if below.size else 0
    return float(alpha[first]) if first < len(alpha) else np.nan


def _learning_curve(axes, cube, jump):
    """State evolution as lines, which a `jump` cuts, and GAMP as points, by layer; the dimension of GAMP."""
    theory, gamp = (cube.sel(estimator=name) for name in ("state_evolution", "gamp"))
    dimension = specifications(cube)["gamp"]["solver"]["dimension"]
    # Where both layers are known, the thin line of the first one lies on the thick one of the last.
    for layer, width in ((2, 3.5), (1, 1.2)):
        draw_layer(axes, theory, gamp, layer, (f"layer {layer}", None), jump, linewidth=width)
    return dimension


def _thresholds(axes, by_layer, together):
    """Triangles with one error, none where a layer has no threshold; grey and hollow where they belong to both layers."""
    for layer, (value, error) in by_layer.items():
        value, error = value.item(), error.item()
        if np.isfinite(value):
            color, label = (LAYER_COLORS[layer], f"threshold of layer {layer}")
            if together:
                color, label = KEY, "(d) threshold of both layers"
            mark_threshold(axes, value, color, error, label, hollow=together)
