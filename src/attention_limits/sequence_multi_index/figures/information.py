"""Entropy of the outputs of two attention layers, and mutual information of weights and outputs of a noisy layer."""

import numpy as np

from attention_limits.pipeline.readings import specifications
from attention_limits.plotting import LAYER_COLORS, curve, house_style, new_figure, present


@house_style
def draw(cubes):
    """Entropy from the cube fig1_learning_curve (left), information from noisy_attention (right)."""
    figure, (left, right) = new_figure(1, 2, 7.0, 3.2)
    cube = cubes["fig1_learning_curve"]
    for name, color, style in (
        ("state_evolution", LAYER_COLORS[2], "-"),
        ("state_evolution_informed", LAYER_COLORS[1], "D"),
    ):
        part = cube.sel(estimator=name)
        # Minus infinity is exact recovery: the curve ends there.
        entropy = present(part.entropy.where(np.isfinite(part.entropy)))
        label = "uninformed start" if style == "-" else "informed start"
        if style == "-":
            curve(left, entropy.alpha, entropy.values, color, label)
        else:
            left.plot(entropy.alpha, entropy.mean("replica"), style, color=color, markerfacecolor="none", label=label)
    left.set(
        xlabel=r"samples per dimension $\alpha = n/D$",
        ylabel=r"entropy $h(Y|X)/D$ (nats)",
        title="two layers, no noise",
    )
    left.legend()
    noisy = cubes["noisy_attention"]
    noise = specifications(noisy)["state_evolution"]["model"]["noise"]
    information = present(noisy.mutual_information)
    curve(right, information.alpha, information.values, "#000000", "$I(W; Y|X)/D$")
    first = float(information.isel(alpha=1).mean() / information.alpha[1])
    right.plot(information.alpha, first * information.alpha, ":", color="0.5", label="independent outputs")
    overlap = present(noisy.overlap.sel(layer=1, layer_star=1))
    curve(right, overlap.alpha, overlap.values, LAYER_COLORS[1], "overlap $Q$", "--")
    right.set(
        xlabel=r"samples per dimension $\alpha = n/D$",
        ylabel="nats per dimension; overlap",
        title=rf"one layer, noise $\Delta = {noise:g}$",
    )
    right.legend()
    return figure
