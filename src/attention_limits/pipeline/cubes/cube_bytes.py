"""The bytes of a data file: joins estimators, describes variables and coordinates, writes.

The digest of a cube contains the code of this module and of the modules that it imports: no YAML and no schema. `cubes` reads
the files, `chunks` finds them.
"""

import errno
import hashlib
import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import xarray as xr

from attention_limits.pipeline.base.errors import CubeError
from attention_limits.pipeline.base.files import canonical_json, digest, replacing
from attention_limits.pipeline.base.registry import Variable, registry
from attention_limits.pipeline.cubes.combine import join


def annotate(dataset: xr.Dataset, family: str, grid: list[str]) -> xr.Dataset:
    """A copy of `dataset` with the registry's attributes on every variable and coordinate, and no other attributes.

    `grid` lists the grid keys of the experiment. A variable's dimensions must be some of (estimator, grid keys, replica)
    followed by exactly the registered ones. Only the attribute `estimator` of a variable is kept. Raises CubeError naming every
    unregistered variable or coordinate and every wrong dimension.
    """
    known, result = registry(family), dataset.copy()
    leading, problems, result.attrs = ["estimator", *grid, "replica"], [], {}
    for name in map(str, result.data_vars):
        array = result[name]
        if name not in known.variables:
            problems.append(f"{name}: not in the registry of variables of {family}")
            continue
        wanted = (*(dim for dim in leading if dim in array.dims), *known.variables[name].dims)
        if array.dims != wanted:
            problems.append(f"{name}: has dimensions {array.dims}, must have {wanted}")
        kept = {key: array.attrs[key] for key in ("estimator",) if key in array.attrs}
        array.attrs = {**_attributes(array, _record(array, family), "normalisation", "source"), **kept}
    for name in sorted({str(name) for name in result.coords} | {str(dim) for dim in result.dims}):
        if name not in known.coordinates:
            problems.append(f"{name}: not in the registry of coordinates of {family}")
        elif name not in result.coords:
            problems.append(f"{name}: the dimension has no coordinate values")
        else:
            result[name].attrs = _attributes(result[name], known.coordinates[name], "definition")
    if problems:
        raise CubeError(problems)
    return result


def _record(array: xr.DataArray, family: str) -> Variable:
    """The texts of the estimators that compute a variable; where these differ, those of the family with all equations."""
    owners = [array.attrs.get("estimator")]
    if "estimator" in array.dims:
        computed = array.notnull().any([dim for dim in array.dims if dim != "estimator"])
        owners = array.estimator.values[computed.values].tolist() or owners
    found = dict.fromkeys(registry(family, owner).variables[str(array.name)] for owner in owners)
    if len(found) == 1:
        return next(iter(found))
    return replace(
        registry(family).variables[str(array.name)],
        normalisation="; ".join(dict.fromkeys(item.normalisation for item in found)),
        source="; ".join(dict.fromkeys(item.source for item in found)),
    )


def _attributes(array: xr.DataArray, record, *more: str) -> dict[str, str]:
    # Texts and truth values have no units.
    units = () if array.dtype == bool or array.dtype.kind in "OUT" else ("units",)
    return {key: getattr(record, key) for key in ("long_name", "symbol", *more, *units)}


def linked(dataset: xr.Dataset) -> xr.Dataset:
    """A copy in which each variable names its error and its flags of convergence in the CF attribute `ancillary_variables`."""
    result = dataset.copy()
    for name, array in result.data_vars.items():
        found = [other for other in map(str, dataset.data_vars) if _belongs(dataset, other, str(name))]
        array.attrs = {**array.attrs, **({"ancillary_variables": " ".join(found)} if found else {})}
    return result


def _belongs(dataset, other, name):
    """Whether `other` is the error of the variable `name`, or a flag of the estimator that computes it."""
    ours, theirs = dataset[name], dataset[other]
    of_error = is_flag(name) or _measured(name) in dataset.data_vars
    if other == name or of_error or not set(theirs.dims) <= set(ours.dims):
        return False
    if _measured(other) == name:
        return True
    shared = ours.attrs.get("estimator") == theirs.attrs.get("estimator") or "estimator" in ours.dims
    return is_flag(other) and shared


def _measured(name):
    """The variable whose error has this name: `mmse` of `mmse_error`, `coefficient_target` of `coefficient_error_target`."""
    return name.replace("_error", "", 1) if "_error" in name else None


def is_flag(name: str) -> bool:
    """Whether a variable says of each point whether its number is sound; `readings.passed` evaluates it.

    `converged`, of the iteration; `unique`, of starts and branches; `resolved`, of nodes, a fraction; `replica_symmetric`,
    `determined`, of the objective; `finite`, `escaped`. The first three also as a part of a name, as in `held_converged`.
    """
    whole = ("finite", "escaped", "replica_symmetric", "determined")
    return name in whole or re.search("(^|_)(converged|unique|resolved)($|_)", name) is not None


def common_attributes(experiment, seed: int, versions: dict[str, str]) -> dict[str, str]:
    """The attributes that chunk files and cubes of an `Experiment` share."""
    sources = [registry(experiment.family, name).source for name in experiment.estimators]
    return {
        "Conventions": "CF-1.11",
        "title": experiment.title,
        "summary": experiment.description,
        "source": "; ".join(dict.fromkeys(sources)),
        "root_seed": str(seed),
        "versions": canonical_json(versions),
    }


def cube_of(experiment, datasets: dict[str, xr.Dataset], seed: int, versions: dict) -> xr.Dataset:
    """The cube of an `Experiment` from the datasets of its estimators. Raises CubeError when they do not fit."""
    grid = list({key: None for estimator in experiment.estimators.values() for key in estimator.grid})
    models = {name: estimator.model for name, estimator in experiment.estimators.items()}
    cube = linked(annotate(join(datasets, models, ["estimator", *grid, "replica"]), experiment.family, grid))
    spec = experiment.effective()
    cube.attrs = {
        **common_attributes(experiment, seed, versions),
        "history": _history(experiment, seed, versions),
        "spec": canonical_json(spec),
        "spec_digest": digest(spec),
        "cube_digest": experiment.digest(seed),
    }
    return cube


def _history(experiment, seed: int, versions: dict[str, str]) -> str:
    """The CF attribute `history`: which program made the numbers. There is no time in it, so that equal runs give equal bytes."""
    program = " ".join(("attention-limits", versions.get("attention-limits", ""))).strip()
    names = ", ".join(f"{experiment.family}.{name}" for name in experiment.estimators)
    return f"{program}: computed {names} with seed {seed} (model, grid and solver: attribute spec), joined the chunks"


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

    The bytes depend on the dataset alone; there is no date. All numbers are compressed except those in single
    precision. These are raw random data, and compression would be slow and useless. Raises OSError for a full or read-only disk.
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
