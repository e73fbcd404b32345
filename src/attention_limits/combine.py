"""Put datasets of one kind side by side, and together over estimators, without quadratic work."""

from collections.abc import Iterable

import numpy as np
import xarray as xr


class Misfit(Exception):
    """Parts that cannot be put together.

    `reason` is "names", "kind", "twice" or "dimension", `about` what it is about: variables, and then dimension and estimator.
    """

    def __init__(self, reason: str, *about: str):
        self.reason, self.about = reason, about
        super().__init__(reason, *about)


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


class Filling:
    """Datasets placed one after the other at their coordinate values in arrays over all of them.

    `coordinates` are the values known from the start; those of other dimensions are added as datasets bring them.
    """

    def __init__(self, coordinates: dict[str, np.ndarray]):
        self._coordinates: dict[str, np.ndarray] = {}
        self._position: dict[str, dict] = {}
        self._dims: dict[str, tuple[str, ...]] = {}
        self._arrays: dict[str, np.ndarray] = {}
        self._covered: dict[str, np.ndarray] = {}
        for name, values in coordinates.items():
            self._place(name, values)

    def add(self, dataset: xr.Dataset) -> None:
        """Copy the values of a dataset to their places.

        All datasets must hold the same variables with the same dimensions. Raises Misfit when they do not, and
        when two datasets cover the same place.
        """
        names = {str(name) for name in dataset.data_vars}
        if self._arrays and names != self._arrays.keys():
            raise Misfit("names", ", ".join(sorted(names ^ self._arrays.keys())))
        values = {str(name): dataset[name].values.tolist() for name in dataset.dims}
        self._make_room(dataset)
        for name in sorted(names):
            array = dataset.variables[name]
            if name not in self._arrays:
                self._dims[name] = tuple(map(str, array.dims))
                self._arrays[name], self._covered[name] = self._empty(name, array.dtype), self._empty(name, bool)
            if array.dims != self._dims[name] or array.dtype != self._arrays[name].dtype:
                raise Misfit("kind", name)
            where = np.ix_(*([self._position[dim][value] for value in values[dim]] for dim in self._dims[name]))
            if self._covered[name][where].any():
                raise Misfit("twice", name)
            self._arrays[name][where] = array.values
            self._covered[name][where] = True

    def dataset(self) -> xr.Dataset:
        """All that was added. What nothing covers is missing, that is NaN, or empty text.

        Whole numbers and truth values become floats where, and only where, something is missing.
        """
        variables = {
            name: (dims, _with_missing(self._arrays[name], self._covered[name])) for name, dims in self._dims.items()
        }
        used = {dim for dims in self._dims.values() for dim in dims}
        return xr.Dataset(variables, {name: values for name, values in self._coordinates.items() if name in used})

    def _make_room(self, dataset: xr.Dataset) -> None:
        """Lengthen the arrays when a dataset brings values of a coordinate that were not there."""
        new = {}
        for name in map(str, dataset.dims):
            known = self._position.get(name, {})
            if any(value not in known for value in dataset[name].values.tolist()):
                new[name] = union([self._along(name), dataset])[name]
        if not new:
            return
        old = {name: dict(self._position[name]) for name in new if name in self._position}
        for name, values in new.items():
            self._place(name, values)
        for name, dims in self._dims.items():
            if not old.keys() & set(dims):
                continue
            where = np.ix_(
                *([self._position[dim][value] for value in old.get(dim, self._position[dim])] for dim in dims)
            )
            for arrays in (self._arrays, self._covered):
                longer = self._empty(name, arrays[name].dtype)
                longer[where] = arrays[name]
                arrays[name] = longer

    def _along(self, name: str) -> xr.Dataset:
        return xr.Dataset(coords={name: self._coordinates[name]} if name in self._coordinates else {})

    def _place(self, name: str, values: np.ndarray) -> None:
        self._coordinates[name] = values
        self._position[name] = {value: i for i, value in enumerate(values.tolist())}

    def _empty(self, name: str, dtype) -> np.ndarray:
        return np.zeros([len(self._coordinates[dim]) for dim in self._dims[name]], dtype=dtype)


def fill(datasets: Iterable[xr.Dataset], coordinates: dict[str, np.ndarray]) -> xr.Dataset:
    """All datasets in one, over `coordinates`; see `Filling`."""
    filling = Filling(coordinates)
    for dataset in datasets:
        filling.add(dataset)
    return filling.dataset()


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
    """Join estimators into one dataset over the union of their grids. Raises Misfit when that cannot be done.

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
                    raise Misfit("dimension", name, dim, estimator)
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
