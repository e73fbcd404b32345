"""Untied against tied attention of two tokens, with linear and softmax output."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    GENERALISATION,
    SAMPLES,
    amp,
    amp_key,
    excess,
    model,
    output_key,
    output_theory,
    theory,
    threshold,
)
from attention_limits.plotting import (
    BLUE,
    GREEN,
    KEY,
    MIDDLE,
    VERMILLION,
    house_style,
    largest,
    legend_below,
    mark_threshold,
    new_figure,
)

TIED, UNTIED, RECTANGULAR = BLUE, VERMILLION, GREEN


@house_style
def draw(cubes):
    """Left linear from untied_linear and fig3_linear; right softmax from untied_softmax, untied_rectangular, fig2_right_tokens2.

    Above the error of the estimate, below that of the output.
    """
    figure, panels = new_figure(2, 2, MIDDLE, 7.0)
    columns = (("untied_linear", "fig3_linear"), ("untied_softmax", "fig2_right_tokens2", "untied_rectangular"))
    for (above, below), names in zip(panels.T, columns, strict=True):
        _compare(above, below, *(cubes[name] for name in names))
    for axes in panels[:, 1]:
        axes.set_ylabel("")
    panels[1, 0].plot([], [], "o", color=KEY, markersize=4, label="(c), (d) AMP, posterior mean, fresh data")
    legend_below(figure, panels[:, ::-1], ncols=3)
    return figure


def numbers(cubes):
    """Largest deviation of the output error of AMP from the line at few samples, in per cent: untied and tied attention."""
    width = model(cubes["untied_linear"], "ratio")
    untied = [_deviations(cubes[name]) for name in ("untied_linear", "untied_softmax", "untied_rectangular")]
    tied = _deviations(cubes["fig3_linear"], width), _deviations(cubes["fig2_right_tokens2"])
    return {name: 100.0 * largest(np.concatenate(parts)) for name, parts in (("off", untied), ("off_tied", tied))}


def _deviations(cube, ratio=None):
    """Relative, where the line is above a quarter of its value at the first alpha of AMP."""
    difference = excess(cube, ratio, "error_bayes")
    few = difference.theory > 0.25 * largest(difference.theory)
    return np.abs(difference / difference.theory)[few].values


def _compare(above, below, untied, tied, rectangular=None):
    """Both errors against alpha; the tied cube may hold other widths than that of the untied one."""
    width, name, end = model(untied, "ratio"), model(untied, "channel"), float(untied.alpha.max())
    lines = [(tied, TIED, "tied, $WW^\\top$"), (untied, UNTIED, "untied, $QK^\\top$")]
    if rectangular is not None:
        lines.append((rectangular, RECTANGULAR, rf"untied, $d_k = {model(rectangular, 'aspect'):g}\, d_q$"))
    for cube, color, label in lines:
        ratio = width if "ratio" in cube.dims else None
        line = theory(cube, ratio)
        above.plot(line.alpha, line, color=color, label=label)
        amp(above, cube, color, ratio=ratio)
        output_theory(below, cube, color, ratio)
        amp(below, cube, color, ratio=ratio, variable="error_bayes")
        recovery, last = threshold(cube, ratio), float(line.alpha[-1])
        for axes in (above, below):
            mark_threshold(axes, recovery, color)
            if recovery < last:
                # Beyond the last alpha of a cube both errors stay zero.
                axes.plot([last, end], [0.0, 0.0], color=color)
    amp_key(above, untied)
    mark_threshold(above, np.nan, KEY, label="exact recovery")
    output_key(below, "c" if name == "linear" else "d", markers=False, same=name == "linear")
    above.set(ylabel=ESTIMATION, ylim=(0, 1.08), title=rf"{name}, $M = {model(untied, 'tokens')}$, $\rho = {width:g}$")
    below.set(ylabel=GENERALISATION, ylim=(0, None))
    for axes in (above, below):
        axes.locator_params(axis="x", nbins=6)
        axes.set(xlabel=SAMPLES, xlim=(0, end))
