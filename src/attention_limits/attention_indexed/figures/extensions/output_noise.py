"""Softmax attention of two tokens with Gaussian noise on the output."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    GENERALISATION,
    SAMPLES,
    amp,
    amp_key,
    excess,
    output_key,
    output_theory,
    theory,
    threshold,
)
from attention_limits.plotting import (
    KEY,
    MIDDLE,
    banded_line,
    house_style,
    largest,
    legend_below,
    new_figure,
    ordered_colors,
)


@house_style
def draw(cubes):
    """From the cube output_noise; left the error of the estimate with the bound of the theory, right that of the output."""
    cube = cubes["output_noise"]
    figure, (left, right) = new_figure(1, 2, MIDDLE, 4.2)
    noises = cube.output_noise.values
    for noise, color in zip(noises, ordered_colors(np.arange(len(noises))), strict=True):
        part = cube.sel(output_noise=noise)
        end = threshold(part)
        learning = part.sel(alpha=part.alpha < end)
        line = theory(learning)
        if line.size:
            bound = theory(learning, variable="mmse_error").sel(alpha=line.alpha)
            banded_line(left, line.alpha, line, bound, color, rf"$\Delta = {noise:g}$")
            output_theory(right, learning, color)
        if line.size and np.isfinite(end):
            _recover(left, line, end, color)
            _recover(right, theory(learning, variable="error_bayes"), end, color)
        for axes, variable in ((left, "mmse"), (right, "error_bayes")):
            amp(axes, part, color, variable=variable)
    amp_key(left, cube)
    output_key(right, "b")
    right.fill_between([], [], [], color=KEY, alpha=0.3, linewidth=0, label="two standard errors of the theory")
    for axes, label in ((left, ESTIMATION), (right, GENERALISATION)):
        axes.set(xscale="log", yscale="log", xlabel=SAMPLES, ylabel=label)
    left.set(ylim=(1e-2, 1.5), title=r"softmax, $M = 2$, $\rho = 0.5$")
    right.set(ylim=(2e-4, None))
    legend_below(figure, (left, right))
    return figure


def numbers(cubes):
    """Exact recovery at the smallest noise, and the largest deviation of AMP from the lines, in per cent."""
    cube = cubes["output_noise"]
    deviations = []
    for noise in cube.output_noise.values:
        for variable in ("mmse", "error_bayes"):
            difference = excess(cube.sel(output_noise=noise), variable=variable)
            deviations += list(np.abs(difference / difference.theory).values)
    return {"recovery": threshold(cube.isel(output_noise=0)), "off": 100.0 * largest(deviations)}


def _recover(axes, line, end, color):
    """Continue the error linearly from the last point of the grid to zero at the alpha `end`."""
    x = np.linspace(float(line.alpha[-1]), end, 200)[:-1]
    axes.plot(x, float(line[-1]) * (end - x) / (end - x[0]), color=color)
