"""Numbers read off the cubes of the attention-indexed family, for figures and for the audit."""

import numpy as np
import xarray as xr
from scipy.special import chdtrc, ndtr, ndtri, stdtr

from attention_limits.numerics.probability.statistics import mean_and_error, mean_with_floor
from attention_limits.pipeline.cubes.readings import at, judges, passed

# Numbers of mean zero that the teacher of a data set has: they explain a part of the scatter of its error.
CONTROLS = ("trace_excess", "square_excess")
# Degrees of freedom that each of them needs: fewer data sets do not determine its coefficient.
_EACH = 5


def mean_of_passed(part, variable):
    """Mean over the replicas that pass all flags and its error, arrays (alpha,).

    The alphas are those of the `variable` (alpha, replica) of a `part`.

    The error is the larger one of the standard error over replicas and of the errors that the nodes of the replicas show
    (`<variable>_node_error`): few replicas may agree by chance. NaN where no replica passes.
    """
    values = part[variable].dropna("alpha", how="all")
    flags = passed(part, variable, unique=True).sel(alpha=values.alpha) == 1
    shown, own = (
        array.sel(alpha=values.alpha).where(flags).transpose("alpha", "replica").values
        for array in (values, part[f"{variable}_node_error"])
    )
    return mean_with_floor(shown, own)


def curve_at(cube, x, variable="mmse", along="alpha", **point):
    """A curve without randomness at x, by linear interpolation of its logarithm against log x, and the error 0.

    Raises KeyError where x is outside of the curve, the cube does not hold the point, or one of the values beside x is one of
    several solutions: no value between the two sides of a jump.
    """
    curve = at(cube[variable], **point).isel(replica=0)
    curve = curve.where((curve[along] > 0) & (curve > 0)).dropna(along)
    places = curve[along].values
    if not len(places) or not places[0] <= x <= places[-1]:
        raise KeyError(f"{along} = {x} is outside of the curve")
    beside = [np.max(places[places <= x]), np.min(places[places >= x])]
    several = "unique" in cube and not np.all(at(cube.unique, **point).isel(replica=0).sel({along: beside}) == 1)
    if "uninformed_end" in cube:
        begin, end = (float(at(cube[name], **point).max()) for name in ("informed_begin", "uninformed_end"))
        several = several or (begin <= beside[1] and beside[0] <= end)
    if several:
        raise KeyError(f"{along} = {x} is at or beside a point where the state evolution has several solutions")
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


def at_infinite_size(cube, variable="mmse", **point):
    """An error at several dimensions, extrapolated to d = infinity by `inverse_law`, and its standard error.

    It uses the data sets that pass their flags. Raises KeyError where the cube does not hold the point, and
    ValueError below three dimensions.
    """
    dimension, mean, error = by_dimension(cube, variable, **point)
    if len(dimension) < 3:
        raise ValueError(f"{variable}: an extrapolation needs three dimensions with errors, got {len(dimension)}")
    coefficients, spread = inverse_law(dimension, mean, error)
    return float(coefficients[0]), spread


def by_dimension(cube, variable, sound=None, **point):
    """The dimensions with sound data sets, and mean and standard error of a variable over these; arrays (n,).

    A data set is sound where the flag with the name `sound` holds, by default where the variable passes all its flags.
    The estimator is matrix_amp_sizes unless `point` names another one. The traces of the teachers are control variates.
    """
    part = _sizes(cube, point)
    flags = part[sound] if sound else passed(part, variable)
    values = _by_size(part[variable].where(flags == 1))
    return pooled_errors(part.dimension.values, values, _controls(part))


def _by_size(array):
    return array.transpose("dimension", "replica").values


def _controls(part):
    """Those of `CONTROLS` that a cube holds; arrays (dimensions, data sets)."""
    return tuple(_by_size(part[name]) for name in CONTROLS if name in part)


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

    Raises KeyError where the cube does not hold the point, and ValueError below three dimensions with converged runs, or where
    the state evolution has several solutions: data sets on both sides of a jump have no common mean.
    """
    part = at(cube, **point)
    if "unique" in part and not np.all(part.unique == 1):
        raise ValueError("the state evolution has several solutions: no mean over data sets")
    limit, uncertainty = limit or (float(part.mmse_limit.max()), 0.5 * float(part.mmse_limit_bound.max()))
    names = ("mmse_by_layer", "predicted_by_layer") if "layer" in point else ("mmse", "mmse_predicted")
    actual, predicted = (part[name] for name in names)
    # The scatter of `pooled_errors` is relative to the mean, so the difference stands beside the limit.
    shown = {"error": actual, "prediction": predicted, "difference": limit + actual - predicted}
    found = {}
    others = {name: part[name] for name in map(str, part.data_vars) if judges(name) or name in CONTROLS}
    for name, values in shown.items():
        value, spread = at_infinite_size(xr.Dataset({"value": values, **others}), "value")
        own = 0.0 if name == "difference" else uncertainty
        kept = _by_size(values.where(passed(part, names[0]) == 1))
        freedom = _pooled(part.dimension.values, kept, _controls(part))[3]
        found[name] = (value - limit) / limit, float(np.hypot(spread, own)) / limit, freedom
    return found


def normal_number(deviation, error, freedom):
    """The standard normal number that is as improbable as deviation / error for Student's t of `freedom` degrees."""
    return float(ndtri(stdtr(freedom, deviation / error)))


def overall(normals):
    """Whether independent standard normal numbers (n,) are that: two tests.

    Returns
    -------
    dict : name -> (number, probability)
        "squares": their sum, and the probability of a larger one; it does not see signs. "signed": the sum over root n, a
        standard normal number, and the probability of a larger one of either sign: it sees small deviations of one sign.
    """
    normals = np.asarray(normals, dtype=float)
    squares, signed = float(np.sum(normals**2)), float(np.sum(normals) / np.sqrt(max(1, len(normals))))
    return {
        "squares": (squares, float(chdtrc(max(1, len(normals)), squares))),
        "signed": (signed, float(2.0 * ndtr(-abs(signed)))),
    }


def descent_excess(cube, **point):
    """Dimensions, and mean and standard error of the difference of the errors of gradient descent, in the limit of many starts,
    and of AMP on the same data sets; arrays (n,).

    Both errors scatter with the data set. AMP tends to the Bayes-optimal error, so the limit of the difference at infinite d is
    the excess of gradient descent. It uses the data sets on which AMP passes its flags and the descent stayed finite.
    """
    descent, amp = (at(cube, estimator=name, **point) for name in ("gradient_descent", "matrix_amp_sizes"))
    difference = (descent.mmse_extrapolated - amp.mmse).where((descent.finite == 1) & (passed(amp, "mmse") == 1))
    return pooled_errors(cube.dimension.values, difference.transpose("dimension", "replica").values)


def dropped(cube, **point):
    """The number of runs that `by_dimension` leaves out, and the number of all, at all dimensions together."""
    part = _sizes(cube, point)
    flags = (part.converged * passed(part, "mmse")).transpose("dimension", "replica").values
    flags = flags[np.isfinite(flags)]
    return int(np.sum(flags != 1)), len(flags)


def _sizes(cube, point):
    estimator = {"estimator": "matrix_amp_sizes"} if "estimator" in cube.dims else {}
    return at(cube, **{**estimator, **point})


def pooled_errors(dimension, values, controls=()):
    """Dimensions (n,) with data, means and standard errors of `values` (dimensions, data sets), NaN where a set is missing.

    Few data sets give an inaccurate scatter. An error per d^2 entries scatters by c / d relative to its mean, because traces of
    powers of random matrices of dimension d fluctuate by numbers of order one; all data sets together determine c.

    `controls`: arrays like `values`, of known mean zero, whose scatter is of order 1 / d too. All data sets together determine
    their coefficients by least squares, and the means are those without them (control variates). They need `_EACH` degrees of
    freedom each, else they are left out.
    """
    return _pooled(dimension, values, controls)[:3]


def _pooled(dimension, values, controls):
    """As `pooled_errors`, and the degrees of freedom of the scatter."""
    dimension, seen = np.asarray(dimension), np.any(np.isfinite(values), axis=1)
    dimension, values = dimension[seen], values[seen]
    known = np.isfinite(values)
    count = np.sum(known, axis=1)
    mean = np.nanmean(values, axis=1) if len(values) else np.empty(0)
    freedom = int(np.sum(count - 1))
    if freedom < 1:
        return dimension[:0], mean[:0], mean[:0], 0
    scaled = [np.where(known, dimension[:, None] * control[seen], np.nan) for control in controls]
    # A teacher without scatter of its traces has no controls.
    scaled = [part for part in scaled if np.nanstd(part) > 1e-6]
    if freedom < _EACH * len(scaled):
        scaled = []
    centres = np.array([np.nanmean(part, axis=1) for part in scaled]).reshape(len(scaled), len(mean))
    design = np.array([(part - centre[:, None])[known] for part, centre in zip(scaled, centres, strict=True)])
    design = design.reshape(len(scaled), int(np.sum(known))).T
    relative = (dimension[:, None] * (values / mean[:, None] - 1.0))[known]
    slopes, *_ = np.linalg.lstsq(design, relative)
    freedom -= len(scaled)
    scatter = np.sqrt(np.sum((relative - design @ slopes) ** 2) / freedom)
    shift = slopes @ centres / dimension
    leverage = np.sum(centres * np.linalg.solve(design.T @ design, centres), axis=0) if scaled else 0.0
    error = scatter * np.abs(mean) / dimension * np.sqrt(1.0 / count + leverage)
    return dimension, mean * (1.0 - shift), error, freedom


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
