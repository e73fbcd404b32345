"""Untied self-attention beside untied attention of separate sequences, whose theory is known."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import ESTIMATION, FLOOR, fitted, setting, theory, threshold
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    BLUE,
    COLORS,
    KEY,
    MIDDLE,
    VERMILLION,
    house_style,
    legend_below,
    mark_threshold,
    new_figure,
    points,
    realised_alpha,
)

SHOWN = (("self_attention", VERMILLION, "same tokens"), ("separate_sequences", BLUE, "separate sequences"))
PARTS = (("symmetric", "s"), ("antisymmetric", "D"))


@house_style
def draw(cubes):
    """Left the error of S, right that of its two parts; the state evolution is that of untied_softmax."""
    figure, panels = new_figure(1, 2, MIDDLE, 4.2)
    whole, split = panels
    line, descents = theory(cubes["untied_softmax"], None), [(cubes[name], color) for name, color, _ in SHOWN]
    for axes, share in ((whole, 1.0), (split, 0.5)):
        axes.plot(line.alpha, share * line, color=BLUE)
        mark_threshold(axes, threshold(cubes["untied_softmax"]), COLORS["bayes"])
    for cube, color in descents:
        descent = cube.sel(estimator="untied_descent")
        _points(whole, descent, descent.mmse_extrapolated, fitted(descent), color, "*")
        for part, marker in PARTS:
            _points(split, descent, descent.mmse_by_part_extrapolated.sel(part=part), fitted(descent), color, marker)
        amp = cube.sel(estimator="untied_amp")
        flags = passed(amp, "mmse").transpose("alpha", "replica").values
        _points(whole, amp, amp.mmse, flags, color, "o")
    for _, color, label in SHOWN:
        whole.plot([], [], color=color, linewidth=4, label=f"keys read {label}")
    whole.plot([], [], color=BLUE, label="state evolution, separate sequences")
    whole.plot([], [], "o", color=KEY, markersize=4, label=f"AMP, $d = {setting(cubes['self_attention'], 'untied_amp', 'dimension')}$")
    dimension = setting(cubes["self_attention"], "untied_descent", "dimension")
    whole.plot([], [], "*", color=KEY, label=f"gradient descent, limit of many starts, $d = {dimension}$")
    for part, marker in PARTS:
        split.plot([], [], marker, color=KEY, markersize=4, label=f"{part} part")
    whole.set(ylabel=ESTIMATION, title="error of $S$")
    split.set(title="error of each part of $S$")
    for axes in panels:
        axes.set(xlabel=r"samples per squared dimension $\alpha = n/d^2$", xlim=(0, float(line.alpha[-1])), ylim=(0, None))
    legend_below(figure, panels, ncols=3)
    return figure


def _points(axes, cube, array, flags, color, marker):
    """Mean and standard error over the data sets at the realised alpha; missing points of the other estimator are left out."""
    array = array.transpose("alpha", "replica")
    known = np.isfinite(cube.realised_alpha.transpose("alpha", "replica").values).any(axis=1)
    x = realised_alpha(cube, array.alpha[known])
    points(axes, x, np.maximum(array.values[known], FLOOR), flags[known], color, None, marker)


def numbers(cubes):
    """Errors of both parts at one alpha, of the whole, and the number of AMP runs of self-attention that diverged."""
    amp = cubes["self_attention"].sel(estimator="untied_amp")
    runs = amp.iterations.values[np.isfinite(amp.iterations.values)]
    # Of one grid value of every scale.
    at = {name: cubes[name].sel(estimator="untied_descent", alpha=0.2) for name, *_ in SHOWN}
    means = {
        f"{name}_{part}": float(cube.mmse_by_part_extrapolated.sel(part=part).mean())
        for name, cube in at.items()
        for part, _ in PARTS
    }
    errors = {f"{name}_whole": float(cube.mmse_extrapolated.mean()) for name, cube in at.items()}
    left = int(np.isnan(amp.mmse.values[np.isfinite(amp.iterations.values)]).sum())
    return {**means, **errors, "diverged": left, "runs": runs.size, "longest": float(runs.max())}
