"""The loop over the points of a chunk: every estimator computes one point, and this collects them into a dataset."""

import itertools
from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from attention_limits.pipeline.base.progress import progress


def points(spec: dict) -> list[tuple[dict[str, float], int]]:
    """The grid values by key, and the replica, of every point of a specification; the replica changes fastest."""
    keys = list(spec["grid"])
    grid = itertools.product(*spec["grid"].values(), spec["replicas"])
    return [(dict(zip(keys, values, strict=True)), replica) for *values, replica in grid]


def collect(
    spec: dict,
    compute: Callable[..., Mapping],
    dims: Mapping[str, tuple[str, ...]],
    coordinates: Mapping | None = None,
) -> xr.Dataset:
    """The dataset of `compute(at, replica) -> {variable: array}` at all points of a specification.

    Parameters
    ----------
    compute : callable
        `at` holds the grid values by key. All points give the same variables, of the same shapes.
    dims : mapping
        Dimensions of each variable beyond grid and replica; a variable that is not listed has none.
    coordinates : mapping, optional
        Values along those dimensions; 0, 1, 2, ... where nothing is given.
    """
    axes = {**spec["grid"], "replica": spec["replicas"]}
    shape = tuple(len(values) for values in axes.values())
    arrays: dict[str, np.ndarray] = {}
    everything = points(spec)
    for place, (at, replica) in zip(
        np.ndindex(shape), progress(everything, len(everything), spec["estimator"]), strict=True
    ):
        for name, value in compute(at, replica).items():
            value = np.asarray(value)
            if name not in arrays:
                arrays[name] = np.empty((*shape, *value.shape), value.dtype)
            arrays[name][place] = value
    variables = {name: ((*axes, *dims.get(name, ())), array) for name, array in arrays.items()}
    own = {
        dim: np.arange(array.shape[i])
        for own, array in variables.values()
        for i, dim in enumerate(own)
        if dim not in axes
    }
    return xr.Dataset(variables, {**own, **axes, **(coordinates or {})})
