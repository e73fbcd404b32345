"""Numbers read off the cubes of the attention-indexed family, for figures and for the audit."""

import numpy as np
import xarray as xr

from attention_limits.numerics.statistics import mean_and_error
from attention_limits.pipeline.readings import at

# Smallest fraction of resolved outputs, or proximal operators, of a point that counts.
MOSTLY_RESOLVED = 0.95
_FLAGS = ("converged", "unique", "replica_symmetric")


def trusted(part) -> xr.DataArray:
    """Whether the points of an estimator pass each of its flags, (grid..., replica): 0, 1, and NaN where it has no point.

    The flags are `converged`, `unique`, `replica_symmetric`, and `resolved` of at least MOSTLY_RESOLVED.
    """
    passed = [part[name] == 1 for name in _FLAGS if name in part]
    if "resolved" in part:
        passed.append(part.resolved >= MOSTLY_RESOLVED)
    known = [part[name].notnull() for name in (*_FLAGS, "resolved") if name in part]
    # A cube of several estimators has the flags of all of them.
    found = xr.ones_like(part.converged, dtype=float)
    for good, there in zip(passed, known, strict=True):
        found = found.where(good | ~there, 0.0)
    return found.where(part.converged.notnull())


def mean_of_trusted(part, variable):
    """Mean over the trusted replicas and its error, arrays (alpha,) at the alphas of the `variable` (alpha, replica) of a `part`.

    The error is the larger one of the standard error over replicas and of the errors that the nodes of the replicas show
    (`<variable>_node_error`): few replicas may agree by chance. NaN where no replica is trusted.
    """
    values = part[variable].dropna("alpha", how="all")
    flags = trusted(part).sel(alpha=values.alpha) == 1
    shown, own = (
        array.sel(alpha=values.alpha).where(flags).transpose("alpha", "replica").values
        for array in (values, part[f"{variable}_node_error"])
    )
    mean, spread = mean_and_error(shown, axis=1)
    count = np.sum(np.isfinite(shown), axis=1)
    least = np.sqrt(np.nansum(own**2, axis=1)) / np.maximum(count, 1)
    return mean, np.where(count > 0, np.fmax(spread, least), np.nan)


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
    """An error at several dimensions, extrapolated to d = infinity by `inverse_law`, and its standard error.

    It uses the data sets on which the variable `sound` is true. Raises KeyError where the cube does not hold the point, and
    ValueError below three dimensions.
    """
    dimension, mean, error = by_dimension(cube, variable, sound, **point)
    if len(dimension) < 3:
        raise ValueError(f"{variable}: an extrapolation needs three dimensions with errors, got {len(dimension)}")
    coefficients, spread = inverse_law(dimension, mean, error)
    return float(coefficients[0]), spread


def by_dimension(cube, variable, sound="converged", **point):
    """The dimensions with `sound` data sets, and mean and standard error of a variable over these sets; arrays (n,).

    The estimator is matrix_amp_sizes unless `point` names another one.
    """
    part = _sizes(cube, point)
    values = part[variable].where(part[sound] == 1).transpose("dimension", "replica").values
    return pooled_errors(part.dimension.values, values)


def agreement(cube, limit=None, **point):
    """Deviations of matrix AMP at d = infinity from the error of state evolution, in units of this error, with standard errors.

    Parameters
    ----------
    cube : xarray.Dataset
    limit : tuple of float, optional
        Error of state evolution and its standard error. None: those that the cube holds; a bound counts as two standard errors.
    point : coordinate values
        alpha, and the layer of two.

    Returns
    -------
    dict : name -> (deviation, standard error, degrees of freedom)
        Of the "error" of AMP, of its "prediction", and of their "difference" on the same data sets. The standard error contains
        that of state evolution, except for the difference. If both agree, deviation / standard error has Student's t
        distribution of these degrees of freedom: `pooled_errors` estimates the scatter from few data sets.

    Raises KeyError where the cube does not hold the point, and ValueError below three dimensions with converged runs.
    """
    part = at(cube, **point)
    limit, uncertainty = limit or (float(part.mmse_limit.max()), 0.5 * float(part.mmse_limit_bound.max()))
    names = ("mmse_by_layer", "predicted_by_layer") if "layer" in point else ("mmse", "mmse_predicted")
    actual, predicted = (part[name] for name in names)
    # The scatter of `pooled_errors` is relative to the mean, so the difference stands beside the limit.
    shown = {"error": actual, "prediction": predicted, "difference": limit + actual - predicted}
    sets = (part.converged == 1).sum("replica").values
    freedom, found = int(np.sum(np.maximum(sets - 1, 0))), {}
    for name, values in shown.items():
        value, spread = at_infinite_size(xr.Dataset({"value": values, "converged": part.converged}), "value")
        own = 0.0 if name == "difference" else uncertainty
        found[name] = (value - limit) / limit, float(np.hypot(spread, own)) / limit, freedom
    return found


def descent_excess(cube, **point):
    """Dimensions, and mean and standard error of the difference of the errors of gradient descent, in the limit of many starts,
    and of AMP on the same data sets; arrays (n,).

    Both errors scatter with the data set. AMP tends to the Bayes-optimal error, so the limit of the difference at infinite d is
    the excess of gradient descent. It uses the data sets on which AMP converged and the descent stayed finite.
    """
    descent, amp = (at(cube, estimator=name, **point) for name in ("gradient_descent", "matrix_amp_sizes"))
    difference = (descent.mmse_extrapolated - amp.mmse).where((descent.finite == 1) & (amp.converged == 1))
    return pooled_errors(cube.dimension.values, difference.transpose("dimension", "replica").values)


def dropped(cube, sound="converged", **point):
    """The number of runs that `by_dimension` leaves out, and the number of all, at all dimensions together."""
    flags = _sizes(cube, point)[sound].transpose("dimension", "replica").values
    flags = flags[np.isfinite(flags)]
    return int(np.sum(flags != 1)), len(flags)


def _sizes(cube, point):
    estimator = {"estimator": "matrix_amp_sizes"} if "estimator" in cube.dims else {}
    return at(cube, **{**estimator, **point})


def pooled_errors(dimension, values):
    """Dimensions (n,) with data, means and standard errors of `values` (dimensions, data sets), NaN where a set is missing.

    Few data sets give an inaccurate scatter. An error per d^2 entries scatters by c / d relative to its mean, because traces of
    powers of random matrices of dimension d fluctuate by numbers of order one; all data sets together determine c.
    """
    count = np.sum(np.isfinite(values), axis=1)
    seen = count > 0
    dimension, values, count = np.asarray(dimension)[seen], values[seen], count[seen]
    mean = np.nanmean(values, axis=1) if len(values) else np.empty(0)
    freedom = int(np.sum(count - 1))
    if freedom < 1:
        return dimension[:0], mean[:0], mean[:0]
    relative = dimension[:, None] * (values / mean[:, None] - 1.0)
    scatter = np.sqrt(np.nansum(relative**2) / freedom)
    return dimension, mean, scatter * np.abs(mean) / (dimension * np.sqrt(count))


def inverse_law(dimension, mean, error, order=None):
    """Coefficients of a polynomial of mean in 1/d, ascending, by weighted least squares, and the standard error of the first.

    Parameters
    ----------
    dimension, mean, error : arrays (n,)
    order : int, optional
        At least one. None: one below n - 1, so that one degree of freedom tests the law, and at most two: a straight line in 1/d
        for three dimensions, a parabola for more.

    Where the means scatter about the law by more than their errors, the error grows in proportion.
    """
    order = max(1, min(2, len(mean) - 2)) if order is None else order
    design = np.vander(1.0 / np.asarray(dimension, float), order + 1, increasing=True) / error[:, None]
    coefficients, *_ = np.linalg.lstsq(design, mean / error, rcond=None)
    freedom = len(mean) - order - 1
    excess = np.sum((mean / error - design @ coefficients) ** 2) / freedom if freedom > 0 else 1.0
    spread = np.sqrt(np.linalg.inv(design.T @ design)[0, 0] * max(1.0, excess))
    return coefficients, float(spread)
