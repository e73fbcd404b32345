"""What the kinds of this family share: one function per point, collected into a dataset."""

import itertools

import numpy as np
import xarray as xr

from attention_limits.pipeline.progress import progress


def collect(spec, compute, dims, coordinates) -> xr.Dataset:
    """The dataset of `compute(point, replica) -> {variable: array}` at all grid values and replicas of `spec`.

    Parameters
    ----------
    compute : callable
        `point` holds the parameters of the model, scanned or not.
    dims : dict
        The dimensions of each variable beyond grid and replica; a variable that is not listed has none.
    coordinates : dict
        Values of those dimensions.
    """
    axes = {**spec["grid"], "replica": spec["replicas"]}
    shape = tuple(len(values) for values in axes.values())
    points = list(itertools.product(*axes.values()))
    arrays = {}
    for index, values in zip(np.ndindex(shape), progress(points, len(points), spec["estimator"]), strict=True):
        scanned = dict(zip(spec["grid"], values, strict=False))
        for name, value in compute({**spec["model"], **scanned}, values[-1]).items():
            value = np.asarray(value)
            if name not in arrays:
                arrays[name] = np.empty((*shape, *value.shape), value.dtype)
            arrays[name][index] = value
    variables = {name: ((*axes, *dims.get(name, ())), array) for name, array in arrays.items()}
    return xr.Dataset(variables, {**axes, **coordinates})
