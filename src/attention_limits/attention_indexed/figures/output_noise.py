"""Softmax attention of two tokens with Gaussian noise on the output."""

import matplotlib as mpl
import numpy as np

from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    FLOOR,
    GENERALISATION,
    amp,
    output_key,
    output_theory,
    setting,
    theory,
)
from attention_limits.plotting import house_style, new_figure


@house_style
def draw(cubes):
    """From the cube output_noise; left the error of the estimate with the bound of the theory, right that of the output."""
    cube = cubes["output_noise"]
    figure, (left, right) = new_figure(1, 2, 8.8, 3.9)
    noises = cube.output_noise.values
    for noise, place in zip(noises, np.linspace(0.0, 0.85, len(noises)), strict=True):
        part, color = cube.sel(output_noise=noise), mpl.colormaps["plasma"](place)
        line = theory(part)
        if line.size:
            bound = theory(part, variable="mmse_error").sel(alpha=line.alpha)
            left.plot(line.alpha, np.maximum(line, FLOOR), color=color, label=rf"$\Delta = {noise:g}$")
            left.fill_between(line.alpha, line - bound, line + bound, color=color, alpha=0.25, linewidth=0)
            output_theory(right, part, color)
        for axes, variable in ((left, "mmse"), (right, "error_bayes")):
            amp(axes, part, color, variable=variable)
    left.errorbar(
        [], [], [], fmt="o", color="0.3", markersize=4, label=f"AMP, $d = {setting(cube, 'matrix_amp', 'dimension')}$"
    )
    output_key(right)
    for axes, label in ((left, ESTIMATION), (right, GENERALISATION)):
        axes.set(xscale="log", yscale="log", xlabel=r"samples $\alpha = n/d^2$", ylabel=label)
    left.set(ylim=(1e-2, 1.5), title=r"softmax, $T = 2$, $\rho = 0.5$")
    right.set(ylim=(2e-4, None))
    left.legend(loc="lower left")
    right.legend(loc="lower right")
    return figure
