"""Softmax attention whose matrix has a low rank of strong eigenvalues and a bulk."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    SAMPLES,
    amp,
    amp_key,
    excess,
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
    left.set(xlabel=SAMPLES, ylabel=ESTIMATION, ylim=(0, 1.08), xlim=(0, float(cube.alpha.max())))
    left.legend(loc="upper right")
    _draw_eigenvalues(right, cube)
    return figure


def numbers(cubes):
    """By how much the error of AMP deviates from the theory at most, at which alpha, and at most at all others."""
    difference = np.abs(excess(cubes["spectrum"])).dropna("alpha").sortby("alpha")
    if difference.size < 2:
        return dict.fromkeys(("off", "off_alpha", "off_others"), np.nan)
    place = float(difference.idxmax("alpha"))
    others = difference.sel(alpha=difference.alpha != place)
    return {"off": float(difference.max()), "off_alpha": place, "off_others": float(others.max())}


def _draw_eigenvalues(axes, cube):
    """Histograms over the data sets, at each alpha of AMP, shifted upwards; the lowest one is that of the teachers."""
    part = cube.sel(estimator="matrix_amp") if "estimator" in cube.dims else cube
    part = part.dropna("alpha", how="all", subset=["eigenvalues"])
    bins = np.linspace(float(part.eigenvalues_teacher.min()) - 0.3, float(part.eigenvalues_teacher.max()) + 0.3, 50)
    rows = [("teachers", part.eigenvalues_teacher.isel(alpha=-1), "0.4")]
    rows += [
        (rf"AMP, $\alpha = {alpha:g}$", part.eigenvalues.sel(alpha=alpha), SPIKED) for alpha in part.alpha.values[::-1]
    ]
    finite = [values.values[np.isfinite(values.values)] for _, values, _ in rows]
    shares = [np.histogram(values, bins)[0] / max(1, values.size) for values in finite]
    highest = max(share.max() for share in shares)
    for place, ((label, _, color), share) in enumerate(zip(rows, shares, strict=True)):
        axes.fill_between(
            bins[:-1], place, place + 0.9 * share / highest, step="post", color=color, alpha=0.6, linewidth=0
        )
        axes.text(bins[0] - 0.5, place + 0.35, label, fontsize="small")
    axes.set(
        xlabel="eigenvalue",
        ylabel="share of the eigenvalues, one scale",
        yticks=[],
        ylim=(0, None),
        xlim=(bins[0] - 0.55, None),
    )
