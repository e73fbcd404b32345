"""Escape steps of tied and untied students against the learning rate."""

import numpy as np

from attention_limits.numerics.statistics import mean_and_error
from attention_limits.plotting import house_style, new_figure
from attention_limits.sequence_single_index.figures.shared import NEUTRAL, POSITIONAL, SEMANTIC

# Colour, marker and size of the lower bounds, which coincide.
STUDENTS = {"tied": (SEMANTIC, "o", 3.5), "untied": (POSITIONAL, "s", 8.0)}
TICKS = (0.02, 0.05, 0.1, 0.2)


@house_style
def draw(cubes):
    """One panel for each number of tokens of the cubes rates_tied and rates_untied."""
    tokens = cubes["rates_tied"].tokens.values
    figure, axes = new_figure(1, len(tokens), 2.6 * len(tokens) + 0.4, 3.4, sharey=True, squeeze=False)
    for panel, length in zip(axes[0], tokens, strict=True):
        for name, (color, marker, size) in STUDENTS.items():
            cube = cubes[f"rates_{name}"].sel(tokens=length)
            cube = cube.isel(learning_rate_exponent=0) if name == "tied" else cube
            rate, all_escaped = cube.learning_rate.values, cube.escaped.values.all(axis=1)
            mean, error = mean_and_error(cube.escape_step.values, axis=1)
            panel.errorbar(
                rate[all_escaped], mean[all_escaped], error[all_escaped], fmt=marker, color=color, markersize=4, capsize=2,
                elinewidth=1, label=f"{name}, mean of {cube.sizes['replica']} runs",
            )  # fmt: skip
            panel.plot(
                rate[~all_escaped], mean[~all_escaped], "^", color=color, markerfacecolor="none", markersize=size,
                label=f"{name}: lower bound of the mean",
            )  # fmt: skip
            flow = cube.flow_step.isel(replica=0).values
            panel.plot(
                rate[np.isfinite(flow)], flow[np.isfinite(flow)], color=color, linewidth=1.0, label=f"{name}, flow"
            )
        # The growth rate gamma (a - gamma (L + 1)), a = 2 / sqrt(pi), is largest at half of the bound.
        best = 1.0 / (np.sqrt(np.pi) * (length + 1))
        panel.axvline(best, color=NEUTRAL, linewidth=0.8, linestyle=":", label="best rate of the flow")
        panel.set(xscale="log", yscale="log", xlabel=r"learning rate $\gamma$")
        panel.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        panel.set_xticks([], minor=True)
        panel.set_title(f"$L = {int(length)}$, best $\\gamma = {best:.4f}$")
    axes[0, 0].set(ylabel="steps to the overlap 1/2, $d = 1000$")
    figure.legend(*axes[0, -1].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure
