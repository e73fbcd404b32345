"""Numbers read off the cubes of the attention-indexed family, for figures and for the audit."""

import numpy as np

from attention_limits.numerics.statistics import mean_and_error
from attention_limits.pipeline.readings import at


def curve_at(cube, x, variable="mmse", along="alpha", **point):
    """A curve without randomness at x, by linear interpolation of its logarithm against log x, and the error 0.

    Raises KeyError where x is outside of the curve, or the cube does not hold the point.
    """
    curve = at(cube[variable], **point).isel(replica=0)
    curve = curve.where((curve[along] > 0) & (curve > 0)).dropna(along)
    places = curve[along].values
    if not len(places) or not places[0] <= x <= places[-1]:
        raise KeyError(f"{along} = {x} is outside of the curve")
    return float(np.exp(np.interp(np.log(x), np.log(places), np.log(curve.values)))), 0.0


def at_first(cube, variable, **point):
    """A variable that is the same at all alpha, at one `point` of the other coordinates, and the error 0.

    Raises KeyError where the cube does not hold the point.
    """
    return float(at(cube[variable].isel(alpha=0, replica=0), **point)), 0.0


def mean_of_starts(cube, starts, **point):
    """Error of the mean of the estimates of `starts` starts of gradient descent: mean over data sets, and its standard error.

    Raises KeyError where the cube does not hold the point.
    """
    mean, error = mean_and_error(at(errors_of_mean(cube, starts), **point).values)
    return float(mean), float(error)


def errors_of_mean(cube, starts):
    """Error of the mean of the estimates of `starts` starts, also of more than were run: array over the grid and the data sets.

    Starts are independent given the data: with e_k = S_k - S, E ||e_1 + ... + e_m||_F^2 / (m^2 d) = a + b / m, where a = E tr e_1
    e_2 / d, the extrapolation to infinitely many, and a + b = E ||e_1||_F^2 / d, the error of one. Both have unbiased estimates
    from any two starts or more.
    """
    limit = cube.mmse_extrapolated
    return limit + (cube.mmse_average.sel(average=1, drop=True) - limit) / starts


def at_infinite_size(cube, variable="mmse", sound="converged", **point):
    """An error at several dimensions, extrapolated linearly in 1/d to d = infinity, and its standard error.

    Weighted least squares of the means over the data sets on which the variable `sound` is true. Where the means scatter about
    the line by more than their errors, the error grows in proportion. Raises KeyError where the cube does not hold the point,
    and ValueError below three dimensions with an error.
    """
    dimension, mean, error = by_dimension(cube, variable, sound, **point)
    if len(dimension) < 3:
        raise ValueError(f"{variable}: an extrapolation needs three dimensions with errors, got {len(dimension)}")
    intercept, _, spread = inverse_law(dimension, mean, error)
    return intercept, spread


def by_dimension(cube, variable, sound="converged", **point):
    """The dimensions with two `sound` data sets or more, mean and standard error of a variable over them; arrays (n,)."""
    part = at(cube.sel(estimator="matrix_amp_sizes") if "estimator" in cube.dims else cube, **point)
    values = part[variable].where(part[sound] == 1).transpose("dimension", "replica").values
    mean, error = mean_and_error(values, axis=1)
    seen = np.isfinite(error) & (error > 0)
    return part.dimension.values[seen], mean[seen], error[seen]


def inverse_law(dimension, mean, error):
    """a, b and the standard error of a of mean = a + b / d, by weighted least squares; see `at_infinite_size`."""
    design = np.column_stack([np.ones(len(mean)), 1.0 / np.asarray(dimension, float)]) / error[:, None]
    (a, b), *_ = np.linalg.lstsq(design, mean / error, rcond=None)
    freedom = len(mean) - 2
    excess = np.sum((mean / error - design @ [a, b]) ** 2) / freedom if freedom > 0 else 1.0
    spread = np.sqrt(np.linalg.inv(design.T @ design)[0, 0] * max(1.0, excess))
    return float(a), float(b), float(spread)
