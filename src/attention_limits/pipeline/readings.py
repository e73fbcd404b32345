"""Single numbers with their errors, and specifications, read from a cube."""

import json

from attention_limits.numerics.statistics import mean_and_error


def value(cube, variable, error=None, **point):
    """A variable at one point: mean over replicas, and its standard error.

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
        The error is 0 for a single replica without an error: a number without randomness.

    Raises
    ------
    KeyError
        If the cube does not hold the variable or the point.
    """
    mean, spread = mean_at(cube[variable], **point)
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
    """An array at coordinate values: names exactly, numbers up to the rounding of a grid. Raises KeyError if it has none."""
    exact = {key: wanted for key, wanted in point.items() if isinstance(wanted, str)}
    near = {key: wanted for key, wanted in point.items() if key not in exact}
    return array.sel(exact).sel(near, method="nearest", tolerance=1e-9) if near else array.sel(exact)


def specifications(cube) -> dict[str, dict]:
    """Model, grid, replicas and solver of each estimator of a cube, then of each kind of data, by name."""
    spec = json.loads(cube.attrs["spec"])
    return {**spec["estimators"], **spec.get("data", {})}
