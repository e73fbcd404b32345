"""Gain of tied over untied weights against the number of tokens, for three readings of the learning rates."""

import numpy as np

from attention_limits.errors import CubeError
from attention_limits.figures.ssi_style import power_text
from attention_limits.figures.style import house_style, new_figure
from attention_limits.numerics.estimators import mean_and_error
from attention_limits.numerics.scaling import fit_power_law

READINGS = {
    0.0: ("#0072B2", r"\gamma_t = \gamma_u"),
    0.5: ("#009E73", r"\gamma_t = \sqrt{L}\,\gamma_u"),
    1.0: ("#D55E00", r"\gamma_t = L\,\gamma_u"),
}


@house_style
def draw(cubes):
    """Ratio of the mean escape steps from the cubes fig3_tied_escape and fig3_untied_escape."""
    tied, untied = cubes["fig3_tied_escape"], cubes["fig3_untied_escape"]
    if not np.array_equal(tied.tokens, untied.tokens):
        raise CubeError(
            ["fig3_tied_escape and fig3_untied_escape have different numbers of tokens: give both the same"]
        )
    figure, axes = new_figure(1, 1, 4.8, 3.8)
    length = tied.tokens.values.astype(float)
    slow, slow_error = mean_and_error(untied.escape_step.values, axis=1)
    for exponent, (color, reading) in READINGS.items():
        part = tied.sel(rate_exponent=exponent)
        fast, fast_error = mean_and_error(part.escape_step.values, axis=1)
        gain = slow / fast
        relative = np.hypot(slow_error / slow, fast_error / fast)
        complete = part.escaped.values.all(axis=1) & untied.escaped.values.all(axis=1)
        fit = fit_power_law(length[complete], gain[complete], relative[complete])
        label = f"${reading}$: {power_text('L', fit)}, predicted $L^{{{1 + exponent:g}}}$"
        for chosen, face in ((complete, color), (~complete, "white")):
            axes.errorbar(
                length[chosen], gain[chosen], (gain * relative)[chosen], color=color, markerfacecolor=face, marker="o",
                markersize=4, capsize=2, linestyle="none", label=label if face == color else None,
            )  # fmt: skip
        axes.plot(length, length ** (1 + exponent), color=color, linewidth=0.9)
    axes.set(
        xscale="log", yscale="log", xlabel="tokens $L$", ylabel="gain, escape steps untied / tied", xticks=length,
        xticklabels=[f"{value:g}" for value in length],
    )  # fmt: skip
    axes.minorticks_off()
    axes.legend(loc="upper left")
    return figure
