"""Combine the datasets of one estimator, and of several estimators."""

from collections.abc import Iterable, Mapping

import numpy as np
import xarray as xr

from attention_limits.pipeline.base.errors import CubeError


def union(datasets: Iterable[xr.Dataset]) -> dict[str, np.ndarray]:
    """All values of every coordinate in any dataset: numbers sorted, text in order of appearance."""
    values: dict[str, dict] = {}
    for dataset in datasets:
        for name in dataset.dims:
            values.setdefault(str(name), {}).update(dict.fromkeys(dataset[name].values.tolist()))
    return {
        name: np.array(list(seen) if isinstance(next(iter(seen)), str) else sorted(seen))
        for name, seen in values.items()
    }


def fill(datasets: list[xr.Dataset], coordinates: Mapping[str, np.ndarray] | None = None) -> xr.Dataset:
    """All datasets in one, each at its place in arrays over `coordinates`, by default the union of theirs.

    Places that no dataset covers are missing: NaN, or empty text. Variables of whole numbers and truth values become floats only
    if some of their values are missing. Raises CubeError when the datasets hold different variables, when a variable has
    different dimensions or types, and when two datasets cover the same place.
    """
    coordinates = union(datasets) if coordinates is None else dict(coordinates)
    position = {name: {value: i for i, value in enumerate(values.tolist())} for name, values in coordinates.items()}
    first = datasets[0].variables
    names = sorted(map(str, datasets[0].data_vars))
    arrays, covered = (
        {
            name: np.zeros([len(coordinates[str(dim)]) for dim in first[name].dims], kind or first[name].dtype)
            for name in names
        }
        for kind in (None, bool)
    )
    for dataset in datasets:
        if differing := set(dataset.data_vars) ^ set(names):
            listed = ", ".join(sorted(map(str, differing)))
            raise CubeError([f"these variables are in some datasets and not in others: {listed}"])
        index = {
            name: [position[name][value] for value in dataset[name].values.tolist()] for name in map(str, dataset.dims)
        }
        for name in names:
            array = dataset.variables[name]
            if array.dims != first[name].dims or array.dtype != arrays[name].dtype:
                raise CubeError([f"{name}: has other dimensions or another type in some datasets"])
            where = np.ix_(*(index[str(dim)] for dim in array.dims))
            if covered[name][where].any():
                raise CubeError([f"{name}: two datasets hold the same point"])
            arrays[name][where], covered[name][where] = array.values, True
    used = {dim for name in names for dim in first[name].dims}
    return xr.Dataset(
        {name: (first[name].dims, _with_missing(arrays[name], covered[name])) for name in names},
        {name: values for name, values in coordinates.items() if name in used},
    )


def _with_missing(array: np.ndarray, covered: np.ndarray) -> np.ndarray:
    if covered.all():
        return array
    if array.dtype.kind in "OUT":
        return np.where(covered, array.astype(object), "")
    if array.dtype.kind != "f":
        array = array.astype(float)
    array[~covered] = np.nan
    return array


def join(datasets: Mapping[str, xr.Dataset], model: Mapping[str, Mapping], leading: list[str]) -> xr.Dataset:
    """Join estimators into one dataset over the union of their grids. Raises CubeError when that cannot be done.

    A variable of two or more estimators gets the dimension `estimator`; a variable of one estimator gets the attribute
    `estimator`. If one estimator scans a key that is fixed in the `model` of another one, the other one is placed at its fixed
    value. `leading` is the order of the first dimensions.
    """
    owners: dict[str, list[str]] = {}
    for estimator, dataset in datasets.items():
        for name in dataset.data_vars:
            owners.setdefault(str(name), []).append(estimator)
    pieces: dict[str, list[xr.Dataset]] = {}
    for name, estimators in owners.items():
        arrays = {estimator: datasets[estimator][name] for estimator in estimators}
        scanned = {dim for array in arrays.values() for dim in map(str, array.dims)}
        for estimator, array in arrays.items() if len(arrays) > 1 else ():
            for dim in sorted(scanned - set(array.dims)):
                if dim not in model[estimator]:
                    raise CubeError([f"{name}: has the dimension {dim} in another estimator and not in {estimator}"])
                array = array.expand_dims({dim: [model[estimator][dim]]})
            array = array.expand_dims({"estimator": [estimator]})
            first = [dim for dim in leading if dim in array.dims]
            arrays[estimator] = array.transpose(*first, *(dim for dim in array.dims if dim not in first))
        pieces[name] = [array.to_dataset(name=name) for array in arrays.values()]
    # Every variable spans the whole union of the grids, so that a cube has one axis of each name.
    coordinates = union(piece for found in pieces.values() for piece in found)
    joined = {
        name: fill(found, {dim: coordinates[dim] for dim in map(str, found[0].dims)})[name]
        for name, found in pieces.items()
    }
    own = {name: {"estimator": names[0]} for name, names in owners.items() if len(names) == 1}
    return xr.Dataset({name: array.assign_attrs(own.get(name, {})) for name, array in joined.items()})
