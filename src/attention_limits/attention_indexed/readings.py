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
