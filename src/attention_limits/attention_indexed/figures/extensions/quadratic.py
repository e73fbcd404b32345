"""A quadratic network of extensive width: Bayes-optimal error, matrix AMP and the best weight decay."""

import numpy as np

from attention_limits.attention_indexed.figures.papers.published import QUADRATIC_AMP, QUADRATIC_CURVES
from attention_limits.attention_indexed.figures.shared import (
    ESTIMATION,
    amp,
    amp_key,
    mark_thresholds,
    model,
    published_runs,
    theory,
)
from attention_limits.plotting import house_style, new_figure

# Variances of the output noise. Noise of variance tau on the scores has the variance 2 tau on the score of one token.
_NOISES, _BAYES, _DECAY = (0.0, 0.25), "#0072B2", "#D55E00"


@house_style
def draw(cubes):
    """Errors from quadratic_network and quadratic_network_decay; one panel for each noise."""
    cube, decay = cubes["quadratic_network"], cubes["quadratic_network_decay"]
    figure, panels = new_figure(1, 2, 9.0, 3.9, sharey=True)
    for axes, noise in zip(panels, _NOISES, strict=True):
        if noise in cube.output_noise:
            part = cube.sel(output_noise=noise)
            line = theory(part)
            axes.plot(line.alpha, line, color=_BAYES, label="Bayes-optimal")
            amp(axes, part, _BAYES)
        if 0.5 * noise in decay.score_noise:
            _decay(axes, decay.sel(score_noise=0.5 * noise).isel(replica=0))
        axes.plot(*QUADRATIC_CURVES[noise].T, "x", color="black", markersize=5, label="published theory")
        published_runs(axes, QUADRATIC_AMP[noise], "published AMP, $d = 200$")
        amp_key(axes, cube)
        title = rf"quadratic network, $\rho = {model(cube, 'ratio'):g}$, $\Delta = {noise:g}$"
        axes.set(xlabel=r"samples $\alpha = n/d^2$", xlim=(0, 0.6), title=title)
        axes.legend(loc="upper right")
    panels[0].set(ylabel=ESTIMATION, ylim=(0, 1.25))
    return figure


def _decay(axes, part):
    """Weight decay, and the thresholds of exact recovery where they are finite."""
    error = part.mse.where(part.converged == 1)
    axes.plot(part.alpha, error, "--", color=_DECAY, linewidth=1.2, label=r"weight decay, best $\lambda$")
    ends = float(part.recovery_threshold.max()), float(part.exact_recovery.max())
    for end, color in zip(ends, (_BAYES, _DECAY), strict=True):
        if np.isfinite(end):
            mark_thresholds(axes, [end], [color])
