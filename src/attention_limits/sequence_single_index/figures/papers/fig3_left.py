"""Overlap against SGD steps of tied and untied feed-forward students."""

import numpy as np

from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import KEY, NARROW, house_style, legend_below, new_figure, ordered_colors


@house_style
def draw(cubes):
    """All runs from the cubes fig3_tied_paths and fig3_untied_paths, and their means."""
    figure, axes = new_figure(1, 1, NARROW, 4.6)
    tokens = cubes["fig3_tied_paths"].tokens.values
    colors = ordered_colors(tokens, logarithmic=True)
    model = specifications(cubes["fig3_tied_paths"])["tied_sgd"]["model"]
    styles, threshold = {"tied": "-", "untied": "--"}, 2.0 / np.sqrt(model["dimension"])
    for student, style in styles.items():
        axes.plot([], [], style, color=KEY, label=f"{student}, mean of the runs")
    axes.axhline(threshold, color=KEY, linewidth=0.8, linestyle=":", label=r"escape threshold $2/\sqrt{d}$")
    for student, style in styles.items():
        cube = cubes[f"fig3_{student}_paths"]
        cube = cube.isel(learning_rate_exponent=0) if student == "tied" else cube
        for length, color in zip(tokens, colors, strict=True):
            runs = cube.overlap_trajectory.sel(tokens=length)
            axes.plot(runs.step[1:], runs[:, 1:].T, style, color=color, linewidth=0.4, alpha=0.5)
            label = f"$M = {length}$" if student == "tied" else None
            axes.plot(runs.step[1:], runs[:, 1:].mean("replica"), style, color=color, label=label)
    axes.set(
        xscale="log", ylim=(0, 1), xlabel=f"SGD steps ($d = {model['dimension']}$)",
        ylabel=r"overlap with the teacher, $(\Sigma_l m_l^2 / M)^{1/2}$",
    )  # fmt: skip
    legend_below(figure, axes, ncols=3)
    return figure
