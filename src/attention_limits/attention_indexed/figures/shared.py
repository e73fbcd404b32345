"""Parts that the figures of the attention-indexed family share."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    COLORS,
    KEY,
    banded_line,
    ordered_colors,
    points,
    realised_alpha,
    say_why,
    sound_mean,
)

# Ends of the scale of width ratios: a ratio has the same colour in every figure.
_RATIOS = (0.05, 5.0)
# Errors below this are drawn there on logarithmic axes: exact recovery.
FLOOR = 1e-5
# Entries of the legend for the open circles of matrix AMP, and of gradient descent (`fitted`).
NOT_CONVERGED = "one replica, not converged"
NOT_FITTED = "one replica, does not fit its data"
# A start of gradient descent fits its data where the training error falls below this fraction of that of the first record.
_FITTED = 1e-3
# Words of the axes.
SAMPLES = r"samples $\alpha = n/d^2$"
SAMPLES_PER_WIDTH = r"samples per dimension and width $\bar\alpha = n/(dr)$"
ESTIMATION = r"error $\|S - \hat S\|_F^2/d$"
GENERALISATION = r"generalisation error $E\,\|f(h) - \hat f\|_F^2$"


def ratio_color(ratio):
    """The colour of a width ratio; black for the limit of small width."""
    return ordered_colors([ratio], *_RATIOS, logarithmic=True)[0] if ratio else COLORS["bayes"]


def setting(cube, estimator, key):
    """A value of the solver of one estimator of a cube."""
    return specifications(cube)[estimator]["solver"][key]


def model(cube, key):
    """A parameter of the model, which all estimators of a cube share."""
    return next(iter(specifications(cube).values()))["model"][key]


def theory(cube, ratio=None, variable="mmse"):
    """An error of the state evolution at the alphas of its grid; a gap where it fails a flag or is not the unique solution."""
    part = _part(cube, "state_evolution", ratio).isel(replica=0, drop=True)
    return part[variable].dropna("alpha").where(passed(part, variable, unique=True) == 1)


def _part(cube, estimator, ratio):
    part = cube.sel(estimator=estimator) if "estimator" in cube.dims else cube
    return part if ratio is None else part.sel(ratio=ratio)


def threshold(cube, ratio=None):
    """The alpha above which the error is zero."""
    array = cube.recovery_threshold if ratio is None else cube.recovery_threshold.sel(ratio=ratio)
    return float(array.max())


def amp(axes, cube, color, label=None, ratio=None, scale=1.0, marker="o", variable="mmse"):
    """An error of matrix AMP at `scale` times the realised alpha of the data: mean over the data sets that pass their flags."""
    part = _part(cube, "matrix_amp", ratio)
    error, flags = _measured(part, variable)
    if error.size:
        points(axes, scale * realised_alpha(part, error.alpha), error.values, flags, color, label, marker)
        say_why(axes, NOT_CONVERGED)


def _measured(part, variable):
    """Errors of matrix AMP (alpha, replica) at the alphas that have any, not below the `FLOOR`, and their flags."""
    error = part[variable].transpose("alpha", "replica").dropna("alpha", how="all").dropna("replica", how="all")
    flags = passed(part, variable).sel(alpha=error.alpha, replica=error.replica).transpose("alpha", "replica").values
    return np.maximum(error, FLOOR), flags


def amp_key(axes, cube):
    """Entries of the legend for the symbols of `amp`."""
    label = f"AMP, $d = {setting(cube, 'matrix_amp', 'dimension')}$"
    axes.errorbar([], [], [], fmt="o", color=KEY, markersize=4, label=label)


def fitted(cube):
    """Flags (alpha, replica) of the data sets of gradient descent on which all starts stayed finite and fit the outputs."""
    records = cube.training_error
    small = (records.min("step") < _FITTED * records.isel(step=0)).all("start")
    return (small & (cube.finite == 1)).transpose("alpha", "replica").values.astype(float)


def error_of_scale(ratio, dimension):
    """2 (1 + rho) / (r d): the error of the scale of S, which hardmax outputs of dimension d do not determine."""
    return 2.0 * (1.0 + ratio) / (max(1, round(ratio * dimension)) * dimension)


def with_unknown_scale(axes, line, color, ratio, dimension, label=None, linestyle=":"):
    """The theory plus the `error_of_scale`."""
    floor = error_of_scale(ratio, dimension)
    axes.plot(line.alpha, line + floor, color=color, linewidth=0.8, linestyle=linestyle, label=label, zorder=1.5)


def output_theory(axes, cube, color, ratio=None, scale=1.0):
    """Generalisation errors of the state evolution: of the posterior mean of the output (full), and of the estimate (dashed).

    Bands: their uncertainty.
    """
    for variable, style, width in (("error_bayes", "-", 1.5), ("error_plug_in", "--", 0.9)):
        line = theory(cube, ratio, variable)
        error = _part(cube, "state_evolution", ratio)[f"{variable}_uncertainty"].isel(replica=0).sel(alpha=line.alpha)
        banded_line(axes, scale * line.alpha, line, error, color, linestyle=style, linewidth=width)


def output_key(axes, panel="", markers=True, same=False):
    """Entries of the legend for the lines of `output_theory`, and for AMP; one entry where both errors are the `same`.

    `panel` is the letter of the panel, if the legend holds the lines of other panels too.
    """
    where = f"({panel}) " if panel else ""
    if same:
        axes.plot([], [], "-", color=KEY, label=f"{where}posterior mean of the output = output of the estimate")
    else:
        axes.plot([], [], "-", color=KEY, label=f"{where}posterior mean of the output")
        axes.plot([], [], "--", color=KEY, linewidth=0.9, label=f"{where}output of the estimate")
    if markers:
        axes.plot([], [], "o", color=KEY, markersize=4, label=f"{where}AMP, posterior mean, fresh data")


def excess(cube, ratio=None, variable="mmse"):
    """Mean error of matrix AMP, as `amp` draws it, minus the state evolution: an array over alpha.

    The coordinate `theory` holds the state evolution at the alphas of the data.
    """
    part = _part(cube, "matrix_amp", ratio)
    error, flags = _measured(part, variable)
    mean = error.sum("replica").copy(data=sound_mean(error.values, flags)[0]).dropna("alpha")
    line = theory(cube, ratio, variable).dropna("alpha")
    expected = np.interp(realised_alpha(part, mean.alpha), line.alpha, line, left=np.nan, right=np.nan)
    return (mean - expected).assign_coords(theory=("alpha", expected))
