"""Steps to learn a square target against the number of tokens, attention beside a network."""

import numpy as np

from attention_limits.numerics.probability.power_laws import median_and_range
from attention_limits.plotting import COLORS, NARROW, house_style, legend_below, lower_bounds, new_figure

STUDENTS = {
    "attention": (COLORS["amp"], "o", r"$\mathrm{Tr}\,\mathrm{softmax}(zz^T) / \sqrt{L}$"),
    "network": (COLORS["descent"], "s", r"$(\Sigma_l z_l)^2 / L$, untied weights"),
}


@house_style
def draw(cubes):
    """Medians with their range, from the cubes attention_lengths_*."""
    figure, axes = new_figure(1, 1, NARROW, 4.0)
    for student, (color, marker, formula) in STUDENTS.items():
        cube = cubes[f"attention_lengths_{student}"].isel(dimension=0)
        tokens, steps = cube.tokens.values, cube.escape_step.transpose("tokens", "replica").values
        median, low, high = median_and_range(steps, cube.escaped.transpose("tokens", "replica").values)
        known = np.isfinite(median)
        above = np.where(np.isfinite(high), high - median, 0.0)[known]
        axes.errorbar(
            tokens[known], median[known], [(median - low)[known], above], fmt=marker, color=color, markersize=4, capsize=2,
            elinewidth=1, label=formula,
        )  # fmt: skip
        if not known.all():
            lower_bounds(axes, tokens[~known], steps.max(axis=1)[~known], color, "lower bound: the length of the runs")
        flow = cube.flow_step.isel(replica=0).values
        if np.isfinite(flow).any():
            axes.plot(
                tokens, np.where(np.isfinite(flow), flow, np.nan), "--", color=color, label=r"limit $d \to \infty$"
            )
    axes.set(yscale="log", xlabel="tokens $L$", ylabel="steps until the student has learned", xticks=tokens)
    legend_below(figure, axes, ncols=1)
    return figure
