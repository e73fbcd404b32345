"""Untied self-attention beside untied attention of separate sequences, whose theory is known."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    FLOOR,
    NOT_CONVERGED,
    NOT_FITTED,
    SAMPLES,
    fitted,
    setting,
    theory,
    threshold,
)
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
    say_why,
)

SHOWN = (("self_attention", VERMILLION, "the same tokens"), ("separate_sequences", BLUE, "separate sequences"))
# Points at one alpha would hide each other.
SHIFT = 0.004
PARTS = (("symmetric", "s"), ("antisymmetric", "D"))


@house_style
def draw(cubes):
    """Left the error of S, right that of its two parts; the state evolution is that of untied_softmax."""
    figure, panels = new_figure(1, 2, MIDDLE, 4.2)
    whole, split = panels
    line = theory(cubes["untied_softmax"])
    for axes, share in ((whole, 1.0), (split, 0.5)):
        axes.plot(line.alpha, share * line, color=BLUE)
        label = "as many equations as parameters" if axes is whole else None
        mark_threshold(axes, threshold(cubes["untied_softmax"]), COLORS["bayes"], label=label)
    for (name, color, _), shift in zip(SHOWN, (-SHIFT, SHIFT), strict=True):
        cube = cubes[name]
        descent = cube.sel(estimator="untied_descent")
        _points(whole, descent, descent.mmse_extrapolated, fitted(descent), color, "*", shift)
        for part, marker in PARTS:
            _points(
                split, descent, descent.mmse_by_part_extrapolated.sel(part=part), fitted(descent), color, marker, shift
            )
        amp = cube.sel(estimator="untied_amp")
        flags = passed(amp, "mmse").transpose("alpha", "replica").values
        _points(whole, amp, amp.mmse, flags, color, "o", 0.0)
    for _, color, label in SHOWN:
        whole.plot([], [], color=color, linewidth=4, label=f"keys read {label}")
    whole.plot([], [], color=BLUE, label="state evolution, separate sequences")
    whole.plot(
        [],
        [],
        "o",
        color=KEY,
        markersize=4,
        label=f"AMP, $d = {setting(cubes['self_attention'], 'untied_amp', 'dimension')}$",
    )
    dimension = setting(cubes["self_attention"], "untied_descent", "dimension")
    whole.plot([], [], "*", color=KEY, markersize=7, label=f"gradient descent, limit of many starts, $d = {dimension}$")
    for part, marker in PARTS:
        split.plot([], [], marker, color=KEY, markersize=4, label=f"{part} part")
    whole.set(ylabel=ESTIMATION, title="error of $S$")
    split.set(ylabel="error of the part", title="error of each part of $S$")
    for axes in panels:
        axes.set(xlabel=SAMPLES, xlim=(0, float(line.alpha[-1])), ylim=(0, None))
    legend_below(figure, panels, ncols=3)
    return figure


def _points(axes, cube, array, flags, color, marker, shift):
    """Mean and standard error over the data sets at the realised alpha plus `shift`, without the other estimator."""
    array = array.transpose("alpha", "replica")
    known = np.isfinite(cube.realised_alpha.transpose("alpha", "replica").values).any(axis=1)
    x = shift + realised_alpha(cube, array.alpha[known])
    points(axes, x, np.maximum(array.values[known], FLOOR), flags[known], color, None, marker)
    say_why(axes, NOT_CONVERGED if marker == "o" else NOT_FITTED)


def numbers(cubes):
    """The starts, errors of S and of its parts at one alpha of every scale, and the AMP runs of self-attention that diverged."""
    amp = cubes["self_attention"].sel(estimator="untied_amp")
    iterations, errors = amp.iterations.values, amp.mmse.values
    diverged = np.isfinite(iterations) & ~np.isfinite(errors)
    found = {"diverged": int(diverged.sum()), "runs": int(np.isfinite(iterations).sum())}
    found["starts"] = setting(cubes["self_attention"], "untied_descent", "starts")
    found["longest"] = float(iterations[diverged].max()) if found["diverged"] else 0.0
    for name, *_ in SHOWN:
        descent = cubes[name].sel(estimator="untied_descent", alpha=0.2)
        found[f"{name}_whole"] = float(descent.mmse_extrapolated.mean())
        found |= {f"{name}_{part}": float(descent.mmse_by_part_extrapolated.sel(part=part).mean()) for part, _ in PARTS}
    return found
