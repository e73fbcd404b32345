"""Put datasets of one kind side by side, and together over estimators, without quadratic work."""

from collections.abc import Iterable

import numpy as np
import xarray as xr

from attention_limits.errors import CubeError


def union(datasets: list[xr.Dataset]) -> dict[str, np.ndarray]:
    """The values of every coordinate that occur in any dataset: numbers sorted, text in order of appearance."""
    values: dict[str, dict] = {}
    for dataset in datasets:
        for name in dataset.dims:
            values.setdefault(str(name), {}).update(dict.fromkeys(dataset[name].values.tolist()))
    result = {}
    for name, seen in values.items():
        items = list(seen)
        result[name] = np.array(items if isinstance(items[0], str) else sorted(items))
    return result


def fill(datasets: Iterable[xr.Dataset], coordinates: dict[str, np.ndarray]) -> xr.Dataset:
    """Place every dataset at its coordinate values in arrays over `coordinates`; what none covers is missing.

    Missing is NaN, so whole numbers and truth values become floats where, and only where, something is missing.
    All datasets must hold the same variables with the same dimensions. Raises CubeError when they do not, and
    when two datasets cover the same place.
    """
    position = {name: {value: i for i, value in enumerate(values.tolist())} for name, values in coordinates.items()}
    arrays: dict[str, np.ndarray] = {}
    covered: dict[str, np.ndarray] = {}
    dims: dict[str, tuple[str, ...]] = {}
    for dataset in datasets:
        names = {str(name) for name in dataset.data_vars}
        if arrays and names != arrays.keys():
            odd = ", ".join(sorted(names ^ arrays.keys()))
            raise CubeError([f"these variables are in some parts and not in others: {odd}"])
        index = {
            name: [position[name][value] for value in dataset[name].values.tolist()] for name in map(str, dataset.dims)
        }
        for name in sorted(names):
            array = dataset[name]
            if name not in arrays:
                dims[name] = tuple(map(str, array.dims))
                shape = [len(coordinates[dim]) for dim in dims[name]]
                arrays[name] = np.zeros(shape, dtype=array.dtype)
                covered[name] = np.zeros(shape, dtype=bool)
            if array.dims != dims[name] or array.dtype != arrays[name].dtype:
                raise CubeError([f"{name}: has other dimensions or another type in some parts"])
            where = np.ix_(*(index[dim] for dim in dims[name]))
            if covered[name][where].any():
                raise CubeError([f"{name}: two parts hold the same point"])
            arrays[name][where] = array.values
            covered[name][where] = True
    variables = {name: (dims[name], _with_missing(arrays[name], covered[name])) for name in arrays}
    used = {dim for name in dims for dim in dims[name]}
    return xr.Dataset(variables, {name: values for name, values in coordinates.items() if name in used})


def _with_missing(array: np.ndarray, covered: np.ndarray) -> np.ndarray:
    if covered.all():
        return array
    if array.dtype.kind in "OUT":
        return np.where(covered, array.astype(object), "")
    if array.dtype.kind != "f":
        array = array.astype(float)
    array[~covered] = np.nan
    return array


def join(parts: dict[str, xr.Dataset], model: dict[str, dict], leading: list[str]) -> xr.Dataset:
    """Join estimators into one dataset over the union of their grids.

    A variable of two or more estimators gets the dimension `estimator`; one of a single estimator gets the
    attribute `estimator` instead. Where one estimator scans what is a fixed key of another's `model`, the
    other is placed at its fixed value. `leading` is the order of the first dimensions.
    """
    owners: dict[str, list[str]] = {}
    for estimator, dataset in parts.items():
        for name in dataset.data_vars:
            owners.setdefault(str(name), []).append(estimator)
    result = {}
    for name, estimators in owners.items():
        if len(estimators) == 1:
            array = parts[estimators[0]][name].copy()
            array.attrs["estimator"] = estimators[0]
            result[name] = array
            continue
        scanned = {dim for estimator in estimators for dim in map(str, parts[estimator][name].dims)}
        pieces = []
        for estimator in estimators:
            array = parts[estimator][name]
            for dim in sorted(scanned - set(array.dims)):
                if dim not in model[estimator]:
                    raise CubeError([f"{name}: has the dimension {dim} in another estimator and not in {estimator}"])
                array = array.expand_dims({dim: [model[estimator][dim]]})
            array = array.expand_dims({"estimator": [estimator]})
            first = [dim for dim in leading if dim in array.dims]
            trailing = [dim for dim in parts[estimators[0]][name].dims if dim not in first]
            pieces.append(array.transpose(*first, *trailing).to_dataset(name=name))
        result[name] = fill(pieces, union(pieces))[name]
    coordinates = union([array.to_dataset(name=name) for name, array in result.items()])
    # Every variable spans the whole union of the grids, so that a cube has one axis of each name.
    placed = {}
    for name, array in result.items():
        own = {dim: coordinates[dim] for dim in map(str, array.dims)}
        placed[name] = fill([array.to_dataset(name=name)], own)[name].assign_attrs(array.attrs)
    return xr.Dataset(placed)
