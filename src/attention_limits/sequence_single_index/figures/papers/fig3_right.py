"""Gain of tied over untied weights against the number of tokens, for three choices of the learning rates."""

import numpy as np

from attention_limits.pipeline.base.errors import CubeError
from attention_limits.plotting import BLUE, GREEN, NARROW, VERMILLION, flagged_points, house_style, new_figure
from attention_limits.sequence_single_index.figures.shared import power_text
from attention_limits.sequence_single_index.readings import gain

READINGS = {
    0.0: (BLUE, r"\gamma_t = \gamma_u"),
    0.5: (GREEN, r"\gamma_t = \sqrt{M}\,\gamma_u"),
    1.0: (VERMILLION, r"\gamma_t = M\,\gamma_u"),
}


@house_style
def draw(cubes):
    """Ratio of the mean escape steps from the cubes fig3_tied_escape and fig3_untied_escape."""
    tied, untied = cubes["fig3_tied_escape"], cubes["fig3_untied_escape"]
    if not np.array_equal(tied.tokens, untied.tokens):
        raise CubeError(
            ["fig3_tied_escape and fig3_untied_escape have different numbers of tokens: give both the same"]
        )
    figure, axes = new_figure(1, 1, NARROW, 4.0)
    for exponent, (color, reading) in READINGS.items():
        found = gain(tied, untied, exponent)
        length, fit = found.tokens, found.power_law
        label = f"${reading}$, {power_text('M', fit)}"
        known, error = found.complete, found.gain * found.relative_error
        axes.errorbar(
            length[known], found.gain[known], error[known], color=color, marker="o", markersize=4, capsize=2,
            linestyle="none", label=label,
        )  # fmt: skip
        flagged_points(axes, length[~known], found.gain[~known], color, "some runs have not escaped")
        one = tied.sel(learning_rate_exponent=exponent).isel(replica=0)
        axes.plot(length, untied.noisy_step.isel(replica=0) / one.noisy_step, color=color, linewidth=0.9)
        axes.plot(length, one.flow_gain, color=color, linewidth=0.9, linestyle="--")
    axes.plot([], [], color="0.4", linewidth=0.9, label="noise and drift (no fit)")
    axes.plot([], [], color="0.4", linewidth=0.9, linestyle="--", label="flow without noise (no fit)")
    axes.set(
        xscale="log", yscale="log", xlabel="tokens $M$", ylabel="gain, escape steps untied / tied", xticks=length,
        xticklabels=[f"{value:g}" for value in length],
    )  # fmt: skip
    axes.minorticks_off()
    axes.legend(loc="upper left")
    return figure
