"""Data files, validated when they are read."""

import json
import shlex
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path

import xarray as xr

from attention_limits.pipeline.base.errors import CubeError
from attention_limits.pipeline.base.files import digest
from attention_limits.pipeline.cubes.cube_bytes import data_digest

# The netCDF library raises one of these for a damaged file; which one depends on the place of the damage.
_UNREADABLE = (OSError, ValueError, KeyError, IndexError, RuntimeError, AttributeError, TypeError)

# HDF5 is not safe for threads, and xarray locks only the access to values, not the opening of a file. Without this lock, threads
# that read their data at once get errors, or the process dies.
_HDF5 = threading.Lock()


class OutdatedError(CubeError):
    """A sound file was made with another specification, seed or code."""


def read(
    path: Path, repair: str | None = None, expect: dict[str, str] | None = None, changed: bool = False
) -> xr.Dataset:
    """Read a whole data file into memory and validate it.

    `repair` states how to make the file again; by default with the workflow if it is in one of its folders. `expect` holds
    attributes that the file must have.
    `changed` accepts, with a warning, data that do not agree with their checksum: a user cut or extended the cube. Raises
    CubeError with the file and the repair when the file is missing, truncated, changed or foreign, and OutdatedError when it has
    other attributes.
    """
    path = Path(path)

    def problem(what: str, kind: type[CubeError] = CubeError) -> CubeError:
        return kind([f"{path}: {what}; repair: {repair or _remedy(path)}"])

    if path.is_dir():
        raise CubeError([f"{path}: is a folder; allowed: the NetCDF file of a cube"])
    if not path.is_file():
        raise problem("is missing")
    try:
        with _HDF5, xr.open_dataset(path, engine="netcdf4", decode_times=False) as opened:
            dataset = opened.load()
    except _UNREADABLE as error:
        raise problem(f"is not a readable netCDF file ({' '.join(str(error).split())})") from None
    if "data_digest" not in dataset.attrs:
        raise problem(
            "was not written by attention-limits, or lost its attributes (xarray: keep_attrs=True keeps them)"
        )
    if dataset.attrs["data_digest"] != data_digest(dataset):
        what = "changed since it was written: its data do not agree with its checksum"
        if not changed:
            raise problem(what)
        warnings.warn(f"{path}: {what}", stacklevel=3)
    try:
        sound = dataset.attrs["spec_digest"] == digest(json.loads(dataset.attrs["spec"]))
    except (KeyError, ValueError):
        sound = False
    if not sound:
        raise problem("changed since it was written: its specification does not agree with its checksum")
    for key, value in (expect or {}).items():
        if dataset.attrs.get(key) != value:
            raise problem(f"was made with another specification, seed or code (its {key} differs)", OutdatedError)
    return dataset


def _remedy(path: Path) -> str:
    """How to get a cube or chunk again; a file in no folder of a workflow is the user's, and stays.

    The folder gives the scale `smoke` and `results`; `paper` shares the folder of `laptop`.
    """
    kinds = {3: ("cubes",), 5: ("chunks", "data")}
    depth = next((n for n in kinds if len(path.parts) >= n and path.parts[-n] in kinds[n]), 0)
    if not depth:
        return "compute it again, or give another path"
    folder = path.parents[depth - 1]
    smoke = folder.name == "smoke"
    results = folder.parent if smoke else folder
    config = [*(["scale=smoke"] if smoke else []), *([] if results == Path("results") else [f"results={results}"])]
    return remake(path, config)


def remake(path: Path, config: Sequence[str] = (), without: Sequence[Path] = ()) -> str:
    """The shell command that makes a file of the workflow again, after it removes the files `without` (default: the file)."""
    removed = shlex.join(map(str, without or [path]))
    options = f" --config {shlex.join(config)}" if config else ""
    return f"rm -f {removed} && snakemake {shlex.quote(str(path))}{options}"
