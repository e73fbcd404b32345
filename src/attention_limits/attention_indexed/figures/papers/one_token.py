"""One token: quadratic networks of extensive width, with the best weight decay, and bilinear sequence regression."""

import numpy as np

from attention_limits.attention_indexed.figures.papers.published import (
    BILINEAR_CURVES,
    QUADRATIC_AMP,
    QUADRATIC_CURVES,
)
from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    SAMPLES,
    amp,
    model,
    setting,
    theory,
)
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    COLORS,
    ORANGE,
    VERMILLION,
    WIDE,
    house_style,
    largest,
    legend_below,
    mark_threshold,
    new_figure,
    published_points,
)

# Variances of the output noise. Noise of variance tau on the scores has the variance 2 tau on the score of one token.
_NOISES = (0.0, 0.25)
# Numbers of samples at which the caption compares both errors.
_COMPARED = {"few": 0.1, "many": 0.5}
_BAYES, _AMP, _DECAY = COLORS["bayes"], COLORS["amp"], COLORS["best"]
# Cubes of bilinear regression: colour and marker.
_SHAPES = {"bilinear_regression_short": (VERMILLION, "o"), "bilinear_regression_long": (ORANGE, "D")}


@house_style
def draw(cubes):
    """Left and middle quadratic_network and quadratic_network_decay; right bilinear_regression_short and _long."""
    figure, panels = new_figure(1, 3, WIDE, 4.2, sharey=True)
    for axes, noise in zip(panels[:2], _NOISES, strict=True):
        _quadratic(axes, cubes["quadratic_network"], cubes["quadratic_network_decay"], noise)
    _bilinear(panels[2], cubes)
    for axes in panels:
        axes.set_xlabel(SAMPLES)
    panels[0].set(ylabel=ESTIMATION, ylim=(0, 1.25))
    legend_below(figure, panels)
    return figure


def numbers(cubes):
    """Largest deviation of the Bayes-optimal errors from the published theory; by how many per cent the error of the best decay
    exceeds the Bayes-optimal one, with few and with many noisy samples."""
    found = {"published": _deviation(cubes), "few": np.nan, "many": np.nan}
    noise, decay = _NOISES[1], cubes["quadratic_network_decay"]
    bayes, best = cubes["quadratic_network"], decay.mse.where(passed(decay, "mse") == 1)
    if noise not in bayes.output_noise or 0.5 * noise not in decay.score_noise:
        return found
    line, other = theory(bayes.sel(output_noise=noise)), best.sel(score_noise=0.5 * noise).isel(replica=0)
    return found | {
        name: 100.0 * float(other.interp(alpha=x) / line.interp(alpha=x) - 1.0) for name, x in _COMPARED.items()
    }


def _deviation(cubes):
    """Largest absolute difference of the state evolution and the published theory, at the published points within the grid."""
    quadratic = cubes["quadratic_network"]
    pairs = [
        (theory(quadratic.sel(output_noise=noise)), QUADRATIC_CURVES[noise])
        for noise in _NOISES
        if noise in quadratic.output_noise
    ]
    pairs += [(theory(cubes[name]), BILINEAR_CURVES[model(cubes[name], "aspect")]) for name in _SHAPES]
    differences = [
        np.interp(published[:, 0], line.alpha, line, left=np.nan, right=np.nan) - published[:, 1]
        for line, published in pairs
    ]
    return largest(np.abs(np.concatenate(differences)))


def _amp_label(cube, panels):
    return f"({panels}) AMP, $d = {setting(cube, 'matrix_amp', 'dimension')}$"


def _quadratic(axes, cube, decay, noise):
    """The errors at one output noise."""
    if noise in cube.output_noise:
        part = cube.sel(output_noise=noise)
        line = theory(part)
        axes.plot(line.alpha, line, color=_BAYES, label="Bayes-optimal")
        amp(axes, part, _AMP, _amp_label(cube, "a, b"))
    if 0.5 * noise in decay.score_noise:
        _decay(axes, decay.sel(score_noise=0.5 * noise).isel(replica=0))
    published_points(axes, *QUADRATIC_CURVES[noise].T, label="published theory")
    published_points(axes, *QUADRATIC_AMP[noise].T, color=_AMP, label="published AMP, $d = 200$")
    title = rf"quadratic network, $\rho = {model(cube, 'ratio'):g}$, $\Delta = {noise:g}$"
    axes.set(xlim=(0, 0.6), title=title)


def _decay(axes, part):
    """Weight decay, and the thresholds of exact recovery where they are finite."""
    error = part.mse.where(passed(part, "mse") == 1)
    axes.plot(part.alpha, error, "--", color=_DECAY, linewidth=1.2, label=r"weight decay, best $\lambda$")
    ends = float(part.recovery_threshold.max()), float(part.exact_recovery.max())
    for end, color in zip(ends, (_BAYES, _DECAY), strict=True):
        if np.isfinite(end):
            mark_threshold(axes, end, color)


def _bilinear(axes, cubes):
    """Bilinear regression at the aspects of its cubes; r is half of the shorter side."""
    for name, (color, marker) in _SHAPES.items():
        cube = cubes[name]
        line, aspect = theory(cube), model(cube, "aspect")
        axes.plot(line.alpha, line, color=color, label=rf"Bayes-optimal, $d_k = {aspect:g}\, d_q$")
        published_points(axes, *BILINEAR_CURVES[aspect].T)
        amp(axes, cube, color, _amp_label(cube, "c"), marker=marker)
    published_points(axes, [], [], label="published theory")
    axes.set(xlim=(0, 1.0), title=rf"bilinear regression, $r = d_q/2$, $\Delta = {model(cube, 'output_noise'):g}$")
