"""What the kinds of this family share: one function per point, collected into a dataset."""

import itertools

import numpy as np
import xarray as xr

from attention_limits.pipeline.progress import progress

# Sites are counted from 1, all else that has no values of its own from 0.
_FIRST = {"site": 1, "site_other": 1}


def collect(spec, compute, dims, coordinates=None) -> xr.Dataset:
    """The dataset of `compute(replica, **grid values) -> {variable: array}` at all points of `spec`.

    Parameters
    ----------
    dims : dict
        The dimensions of each variable beyond grid and replica; a variable that is not listed has none.
    coordinates : dict, optional
        Values of those dimensions; whole numbers where nothing is given.
    """
    axes = {**spec["grid"], "replica": spec["replicas"]}
    shape = tuple(len(values) for values in axes.values())
    points = list(itertools.product(*axes.values()))
    arrays = {}
    for index, point in zip(np.ndindex(shape), progress(points, len(points), spec["estimator"]), strict=True):
        named = dict(zip(axes, point, strict=True))
        for name, value in compute(named.pop("replica"), **named).items():
            value = np.asarray(value)
            if name not in arrays:
                arrays[name] = np.empty((*shape, *value.shape), value.dtype)
            arrays[name][index] = value
    variables, sizes = {}, {}
    for name, array in arrays.items():
        variables[name] = ((*axes, *dims.get(name, ())), array)
        sizes.update(zip(dims.get(name, ()), array.shape[len(shape) :], strict=True))
    own = {dim: np.arange(size) + _FIRST.get(dim, 0) for dim, size in sizes.items()}
    return xr.Dataset(variables, {**axes, **own, **(coordinates or {})})


def training_set(streams, data, replica: int, point: dict, count: int) -> np.ndarray:
    """`count` of the training sequences of `data`, drawn without repetition; a larger set contains the smaller ones.

    `point` holds the grid values of the reader: sets at different distances are drawn independently.
    """
    kept = {key: value for key, value in point.items() if key == "distance"}
    order = streams.generator("subset", replica, **kept).permutation(len(data.training_states))
    return data.training_states.values[order[:count]]
