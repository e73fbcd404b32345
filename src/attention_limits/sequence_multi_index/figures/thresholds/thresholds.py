"""Weak-recovery thresholds of two-layer attention against the inverse temperature and the length of the sequence."""

import numpy as np

from attention_limits.plotting import LAYER_COLORS, MIDDLE, house_style, new_figure
from attention_limits.sequence_multi_index.readings import layer_threshold_and_error


@house_style
def draw(cubes):
    """Thresholds from the cubes beta_thresholds and atlas_tokens."""
    figure, (left, right) = new_figure(1, 2, MIDDLE, 3.4, sharey=True)
    tokens = cubes["atlas_tokens"].sel(depth=2)
    for axes, cube, key in ((left, cubes["beta_thresholds"], "beta"), (right, tokens, "tokens")):
        for layer in (1, 2):
            mean, error = layer_threshold_and_error(cube, layer)
            axes.errorbar(
                cube[key], mean, error, color=LAYER_COLORS[layer], marker="o", markersize=3.5, capsize=2,
                label=rf"$\alpha_{layer}$: layer {layer} becomes learnable",
            )  # fmt: skip
    left.set(xlabel=r"inverse temperature $\beta$ ($M = 2$ tokens)", ylabel=r"samples per dimension $\alpha = n/D$")
    right.set(xlabel=r"number of tokens $M$ ($\beta = 1$)", xticks=tokens.tokens.values)
    left.set_ylim(0, None)
    left.legend(loc="best")
    return figure


def numbers(cubes):
    """By which factor each threshold falls from the fewest to the most tokens, and its largest change with beta, in per cent.

    The threshold of layer 1 at beta = 1 of two tokens in both panels, with its error.
    """
    tokens, betas = (
        [layer_threshold_and_error(cube, layer)[0] for layer in (1, 2)]
        for cube in (cubes["atlas_tokens"].sel(depth=2), cubes["beta_thresholds"])
    )
    factors = {f"factor_{layer}": float(values[0] / values[-1]) for layer, values in zip((1, 2), tokens, strict=True)}
    # Both cubes hold two tokens at beta = 1, on other nodes.
    for name, cube in (
        ("left", cubes["beta_thresholds"].sel(beta=1.0, method="nearest")),
        ("right", cubes["atlas_tokens"].sel(depth=2, tokens=2)),
    ):
        mean, error = layer_threshold_and_error(cube, 1)
        factors |= {name: float(mean), f"{name}_error": float(error)}
    return factors | {"change": 100.0 * max(float(np.nanmax(values) / np.nanmin(values)) - 1.0 for values in betas)}
