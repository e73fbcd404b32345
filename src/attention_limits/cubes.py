"""Data files: annotated from the registry, written whole or not at all, validated when read."""

import errno
import hashlib
import json
import os
import shlex
import shutil
from pathlib import Path

import numpy as np
import xarray as xr

from attention_limits.errors import CubeError
from attention_limits.files import digest, replacing
from attention_limits.variables.record import registry

CONVENTIONS = "CF-1.11"


def annotate(dataset: xr.Dataset, family: str, grid: list[str]) -> xr.Dataset:
    """A copy of `dataset` with the registry's attributes on every variable and coordinate, and nothing else's.

    `grid` lists the grid keys of the experiment. A variable's dimensions must be some of (estimator, grid keys,
    replica) followed by exactly the registered ones. Only the attribute `estimator` of a variable is kept.
    Raises CubeError naming every unregistered variable or coordinate and every wrong dimension.
    """
    known = registry(family)
    leading = ["estimator", *grid, "replica"]
    result, problems = dataset.copy(), []
    result.attrs = {}
    for name in map(str, result.data_vars):
        record, array = known.variables.get(name), result[name]
        if record is None:
            problems.append(f"{name}: not in the registry of variables of {family}")
            continue
        head = tuple(dim for dim in leading if dim in array.dims)
        if array.dims != (*head, *record.dims):
            problems.append(f"{name}: has dimensions {array.dims}, must have {(*head, *record.dims)}")
        kept = {key: array.attrs[key] for key in ("estimator",) if key in array.attrs}
        fields = ("long_name", "symbol", "normalisation", "units", "source")
        array.attrs = {**{key: getattr(record, key) for key in fields}, **kept}
        if array.dtype == bool or array.dtype.kind in "OUT":
            del array.attrs["units"]
    for name in sorted({str(name) for name in result.coords} | {str(dim) for dim in result.dims}):
        record = known.coordinates.get(name)
        if record is None:
            problems.append(f"{name}: not in the registry of coordinates of {family}")
        elif name not in result.coords:
            problems.append(f"{name}: the dimension has no coordinate values")
        else:
            fields = ("long_name", "symbol", "definition", "units")
            result[name].attrs = {key: getattr(record, key) for key in fields}
            if result[name].dtype.kind in "OUT":
                del result[name].attrs["units"]
    if problems:
        raise CubeError(problems)
    return result


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
    """Write `dataset` to the netCDF file `path`, whole or not at all, with a checksum of its data.

    The bytes depend on the dataset alone: no date, no history. All numbers are compressed but those in single precision,
    the raw random data, which would take long and gain nothing. Raises OSError when the disk refuses.
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
            # All that the netCDF library says of a full disk is "HDF error".
            if shutil.disk_usage(temporary.parent).free > dataset.nbytes + 1_000_000:
                raise
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from None


def read(path: Path, repair: str, expect: dict[str, str] | None = None) -> xr.Dataset:
    """Read a whole data file into memory and validate it.

    `repair` is the command that makes the file anew; `expect` holds attributes the file must have. Raises
    CubeError, naming the file and the repair, when it is missing, truncated, damaged, foreign or outdated.
    """
    path = Path(path)

    def problem(what: str) -> CubeError:
        return CubeError([f"{path}: {what}; repair: {repair}"])

    if not path.is_file():
        raise problem("is missing")
    try:
        with xr.open_dataset(path, engine="netcdf4", decode_times=False) as opened:
            dataset = opened.load()
    except (OSError, ValueError, KeyError, RuntimeError, AttributeError, TypeError) as error:
        # The netCDF library raises any of these on a damaged file, depending on where the damage is.
        raise problem(f"is no readable netCDF file ({' '.join(str(error).split())})") from None
    if "data_digest" not in dataset.attrs:
        raise problem("was not written by attention-limits")
    if dataset.attrs["data_digest"] != data_digest(dataset):
        raise problem("is damaged: its data do not have its checksum")
    if dataset.attrs.get("spec_digest") != _digest_of_json(dataset.attrs.get("spec")):
        raise problem("is damaged: its specification does not have its checksum")
    for key, value in (expect or {}).items():
        if dataset.attrs.get(key) != value:
            raise problem(f"was made from another specification, seed or code (its {key} differs)")
    return dataset


def remake(path: Path, config: str = "") -> str:
    """The command that makes a file of the workflow anew, to be pasted into a shell."""
    name = shlex.quote(str(path))
    return f"rm -f {name} && snakemake {name}" + (f" --config {config}" if config else "")


def _digest_of_json(text: str | None) -> str | None:
    try:
        return digest(json.loads(text))
    except (TypeError, ValueError):
        return None
