"""The bytes of a cube, given its chunks: this module joins, describes and writes them.

The digest of a cube contains the code of this module and of the modules that it imports. Therefore it imports no messages, no
YAML and no schema. Other modules check and explain: `cubes` reads and validates files, `merge` finds the chunks.
"""

import errno
import hashlib
import json
import os
import shutil
from pathlib import Path

import numpy as np
import xarray as xr

from attention_limits.pipeline.combine import join
from attention_limits.pipeline.files import canonical_json, digest, replacing
from attention_limits.pipeline.registry import registry

CONVENTIONS = "CF-1.11"


def load(path: Path) -> xr.Dataset:
    """The whole data file in memory. Raises what the netCDF library raises when it cannot be read."""
    with xr.open_dataset(path, engine="netcdf4", decode_times=False) as opened:
        return opened.load()


def joined(experiment, parts: dict[str, xr.Dataset]) -> xr.Dataset:
    """The estimators of an `Experiment` in one dataset, without attributes. Raises Misfit when they do not fit."""
    models = {name: part.model for name, part in experiment.estimators.items()}
    return join(parts, models, ["estimator", *grid_keys(experiment), "replica"])


def grid_keys(experiment) -> list[str]:
    """The grid keys of all estimators of an `Experiment`, in the order in which they appear."""
    return list({key: None for part in experiment.estimators.values() for key in part.grid})


def described(dataset: xr.Dataset, family: str) -> xr.Dataset:
    """A copy with the registry's attributes on every variable and coordinate, and no other attributes.

    Only the attribute `estimator` of a variable is kept. Raises KeyError for a name that is not in the registry.
    """
    known, result = registry(family), dataset.copy()
    result.attrs = {}
    for name in map(str, result.data_vars):
        array = result[name]
        kept = {key: array.attrs[key] for key in ("estimator",) if key in array.attrs}
        fields = ("long_name", "symbol", "normalisation", "units", "source")
        array.attrs = {**{key: getattr(known.variables[name], key) for key in fields}, **kept}
        if array.dtype == bool or array.dtype.kind in "OUT":
            del array.attrs["units"]
    for name in sorted(str(name) for name in result.coords):
        fields = ("long_name", "symbol", "definition", "units")
        result[name].attrs = {key: getattr(known.coordinates[name], key) for key in fields}
        if result[name].dtype.kind in "OUT":
            del result[name].attrs["units"]
    return result


def common_attributes(experiment, seed: int, versions: dict[str, str]) -> dict[str, str]:
    """The attributes that chunk files and cubes of an `Experiment` share."""
    return {
        "Conventions": CONVENTIONS,
        "title": experiment.title,
        "summary": experiment.description,
        "source": registry(experiment.family).source,
        "root_seed": str(seed),
        "versions": canonical_json(versions),
    }


def cube_attributes(experiment, seed: int, versions: dict[str, str], cube_digest: str) -> dict[str, str]:
    """The attributes of a cube."""
    spec = experiment.effective()
    return {
        **common_attributes(experiment, seed, versions),
        "spec": canonical_json(spec),
        "spec_digest": digest(spec),
        "cube_digest": cube_digest,
    }


def data_digest(dataset: xr.Dataset) -> str:
    """sha256 of the data and coordinate values: names, dimensions, types and bytes, not attributes."""
    total = hashlib.sha256()
    for name in sorted(map(str, dataset.variables)):
        array = dataset[name]
        if array.dtype.kind in "OUT":
            content = json.dumps([str(item) for item in array.values.ravel()]).encode()
            kind = "text"
        else:
            values = np.ascontiguousarray(array.values)
            values = values.astype(values.dtype.newbyteorder("<"), copy=False)
            content, kind = values.tobytes(), values.dtype.str
        total.update(json.dumps([name, array.dims, array.shape, kind]).encode())
        total.update(hashlib.sha256(content).digest())
    return total.hexdigest()


def write_atomic(dataset: xr.Dataset, path: Path) -> None:
    """Write `dataset` to the netCDF file `path`, completely or not at all, with a checksum of its data.

    The bytes depend on the dataset alone; there is no date and no history. All numbers are compressed except those in single
    precision. These are raw random data, and compression would be slow and useless. Raises OSError when the disk refuses.
    """
    dataset = dataset.assign_attrs(data_digest=data_digest(dataset))
    encoding = {}
    for name, array in dataset.variables.items():
        numeric = array.dtype.kind not in "OUT"
        packed = numeric and array.ndim and array.dtype != np.float32
        encoding[name] = {"_FillValue": None} | ({"zlib": True, "complevel": 4} if packed else {})
        if not numeric:
            del encoding[name]["_FillValue"]
    with replacing(path) as temporary:
        try:
            dataset.to_netcdf(temporary, engine="netcdf4", encoding=encoding)
        except RuntimeError:
            # The netCDF library reports a full disk as "HDF error" only.
            if shutil.disk_usage(temporary.parent).free > dataset.nbytes + 1_000_000:
                raise
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from None
