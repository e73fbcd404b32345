"""Parts that the figures of the attention-indexed family share."""

import matplotlib as mpl
import numpy as np

from attention_limits.pipeline.readings import specifications
from attention_limits.plotting import points, realised_alpha

# The ratio is a scale, and so are its colours: a value has the same colour in every figure.
_RATIOS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0)
# Errors below this are drawn there on logarithmic axes: exact recovery.
FLOOR = 1e-5


def ratio_color(ratio):
    """The colour of a width ratio; black for the limit of small width."""
    if ratio == 0:
        return "black"
    place = np.interp(np.log(ratio), np.log(_RATIOS[1:]), np.linspace(0.0, 0.88, len(_RATIOS) - 1))
    return mpl.colormaps["viridis"](place)


def setting(cube, estimator, key):
    """A value of the solver of one estimator of a cube."""
    return specifications(cube)[estimator]["solver"][key]


def model(cube, key):
    """A parameter of the model, which all estimators of a cube share."""
    return next(iter(specifications(cube).values()))["model"][key]


def theory(cube, ratio=None):
    """Error of the state evolution at the alphas of its grid."""
    return _part(cube, "state_evolution", ratio).mmse.isel(replica=0, drop=True).dropna("alpha")


def _part(cube, estimator, ratio):
    part = cube.sel(estimator=estimator) if "estimator" in cube.dims else cube
    return part if ratio is None else part.sel(ratio=ratio)


def threshold(cube, ratio=None):
    """The alpha from which on the error is zero."""
    array = cube.recovery_threshold if ratio is None else cube.recovery_threshold.sel(ratio=ratio)
    return float(array.max())


def amp(axes, cube, color, label=None, ratio=None, scale=1.0, marker="o"):
    """Errors of matrix AMP with standard errors over data sets, hollow where most have not converged; x is `scale` times the
    realised alpha of the data."""
    part = _part(cube, "matrix_amp", ratio)
    error = part.mmse.transpose("alpha", "replica").dropna("alpha", how="all").dropna("replica", how="all")
    if error.size:
        settled = part.converged.sel(alpha=error.alpha, replica=error.replica).transpose("alpha", "replica")
        x = scale * realised_alpha(part, error.alpha)
        points(axes, x, np.maximum(error.values, FLOOR), settled.values, color, label, marker)


def mark_thresholds(axes, positions, colors):
    """Triangles on the x axis."""
    for position, color in zip(positions, colors, strict=True):
        axes.plot(
            position, 0.0, marker="^", markersize=6, color=color, clip_on=False, zorder=4,
            transform=axes.get_xaxis_transform(),
        )  # fmt: skip
