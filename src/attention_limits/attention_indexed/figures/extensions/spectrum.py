"""Softmax attention whose matrix has a low rank of strong eigenvalues and a bulk."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    amp,
    amp_key,
    ratio_color,
    theory,
    threshold,
)
from attention_limits.plotting import KEY, MIDDLE, VERMILLION, house_style, mark_threshold, new_figure

SPIKED, WISHART = VERMILLION, ratio_color(0.2)


@house_style
def draw(cubes):
    """Left the error, from the cubes spectrum and fig2_left_softmax; right the eigenvalues of teachers and estimates."""
    cube, wishart = cubes["spectrum"], cubes["fig2_left_softmax"]
    figure, (left, right) = new_figure(1, 2, MIDDLE, 3.8)
    for part, ratio, color, label in (
        (cube, None, SPIKED, "low rank and bulk"), (wishart, 0.2, WISHART, r"Wishart law, $\rho = 0.2$"),
    ):  # fmt: skip
        line = theory(part, ratio)
        left.plot(line.alpha, line, color=color, label=label)
        amp(left, part, color, ratio=ratio)
        mark_threshold(left, threshold(part, ratio), color)
    amp_key(left, cube)
    mark_threshold(left, np.nan, KEY, label="exact recovery")
    left.set(xlabel=r"samples $\alpha = n/d^2$", ylabel=ESTIMATION, ylim=(0, 1.08), xlim=(0, float(cube.alpha.max())))
    left.legend(loc="upper right")
    _draw_eigenvalues(right, cube)
    return figure


def _draw_eigenvalues(axes, cube):
    """Histograms over the data sets, at each alpha of AMP, shifted upwards; the lowest one is that of the teachers."""
    part = cube.sel(estimator="matrix_amp") if "estimator" in cube.dims else cube
    part = part.dropna("alpha", how="all", subset=["eigenvalues"])
    bins = np.linspace(float(part.eigenvalues_teacher.min()) - 0.3, float(part.eigenvalues_teacher.max()) + 0.3, 50)
    rows = [("teachers", part.eigenvalues_teacher.isel(alpha=-1), "0.4")]
    rows += [
        (rf"AMP, $\alpha = {alpha:g}$", part.eigenvalues.sel(alpha=alpha), SPIKED) for alpha in part.alpha.values[::-1]
    ]
    for place, (label, values, color) in enumerate(rows):
        finite = values.values[np.isfinite(values.values)]
        counts, _ = np.histogram(finite, bins)
        height = 0.9 * counts / max(1, counts.max())
        axes.fill_between(bins[:-1], place, place + height, step="post", color=color, alpha=0.6, linewidth=0)
        axes.text(bins[0] - 0.5, place + 0.35, label, fontsize="small")
    axes.set(
        xlabel="eigenvalue",
        ylabel="density / its maximum",
        yticks=[],
        ylim=(0, None),
        xlim=(bins[0] - 0.55, None),
    )
