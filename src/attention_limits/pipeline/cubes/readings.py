"""Single numbers with their errors, and specifications, read from a cube."""

import json

import xarray as xr

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.base.registry import RESOLVED
from attention_limits.pipeline.cubes.cube_bytes import is_flag


def passed(cube, name, unique=False):
    """Whether a variable passes its flags: 1 where all of them hold, 0 where one fails, along the dimensions of the flags.

    The flags are those of `judges` of its estimator that have no other dimensions; a missing one holds. A `resolved` fraction
    below RESOLVED fails. A fixed point that is not the only one is a result, as a run that ends before it escapes.

    Parameters
    ----------
    cube : xarray.Dataset
    name : str
        A variable of the cube.
    unique : bool
        Whether a fixed point that is not the only one fails: for curves that are called Bayes-optimal.

    Returns
    -------
    xarray.DataArray
        Without dimensions where the variable has no flag.
    """
    array, found = cube[name], xr.DataArray(1.0)
    for other in map(str, cube.data_vars):
        own = set(cube[other].dims) - {"estimator"} <= set(array.dims)
        if own and other != name and (judges(other) or (unique and "unique" in other)):
            flag = _of_estimator(cube[other].astype(float), array)
            found = found * (flag >= least(other)).where(flag.notnull(), 1.0)
    return found


def judges(name: str) -> bool:
    """Whether a variable is a flag that a number must pass: not `escaped`, of a run that ends before, nor `unique`."""
    return is_flag(name) and name != "escaped" and "unique" not in name


def least(name: str) -> float:
    """The smallest value at which a flag holds."""
    return RESOLVED if "resolved" in name else 1.0


def _of_estimator(flag, array):
    """A flag at the estimators of an array; missing at those that do not compute it."""
    one = array.attrs.get("estimator")
    if "estimator" in array.coords and "estimator" not in array.dims:
        one = array.estimator.item()
    if "estimator" in flag.dims and "estimator" not in array.dims:
        # The estimator of the array may compute no value of this flag.
        return flag.where(flag.estimator == one).max("estimator")
    owner = flag.attrs.get("estimator")
    if owner and "estimator" in array.dims:
        return flag.where(array.estimator == owner)
    return flag.where(owner is None or one is None or one == owner)


def value(cube, variable, error=None, **point):
    """A variable at one point: mean over the replicas that pass all flags (`passed`), and its standard error.

    Parameters
    ----------
    cube : xarray.Dataset
    variable : str
    error : str, optional
        Variable that holds the standard error, for numbers with a single replica.
    point : coordinate values
        Values of all coordinates of the variable except the replica.

    Returns
    -------
    mean, error : float
        The error is 0 for a single replica without an error: a number without randomness. Both are NaN where no replica passes.

    Raises
    ------
    KeyError
        If the cube does not hold the variable or the point.
    """
    mean, spread = mean_at(cube[variable].where(passed(cube, variable) == 1), **point)
    return (mean, mean_at(cube[error], **point)[0]) if error else (mean, spread)


def mean_at(array, **point):
    """Mean over the replicas of an array at one point, and its standard error; see `value`."""
    here = at(array, **point)
    values = here.values.astype(float)
    if values.ndim > 1 or (values.ndim == 1 and here.dims != ("replica",)):
        raise ValueError(f"{array.name}: {', '.join(here.dims)} left open")
    if values.size == 1:
        return float(values.reshape(())), 0.0
    mean, spread = mean_and_error(values)
    return float(mean), float(spread)


def at(array, **point):
    """An array at coordinate values: names exactly, numbers up to the rounding of a grid.

    A variable that one estimator alone computes has no dimension `estimator`, and takes the name of this estimator too. Raises
    KeyError if the array does not hold the point, and ValueError if it has no such coordinate at any point.
    """
    exact = {key: wanted for key, wanted in point.items() if isinstance(wanted, str)}
    near = {key: wanted for key, wanted in point.items() if key not in exact}
    if "estimator" in exact and exact["estimator"] == array.attrs.get("estimator"):
        del exact["estimator"]
    if unknown := (exact.keys() | near.keys()) - set(array.dims):
        raise ValueError(f"{array.name} has no coordinate {', '.join(sorted(unknown))}")
    return array.sel(exact).sel(near, method="nearest", tolerance=1e-9) if near else array.sel(exact)


def specifications(cube) -> dict[str, dict]:
    """Model, grid, replicas and solver of each estimator of a cube, then of each kind of data, by name; none for a chunk."""
    spec = json.loads(cube.attrs["spec"])
    return {**spec.get("estimators", {}), **spec.get("data", {})}
