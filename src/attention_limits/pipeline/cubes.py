"""Data files: checked against the registry before they are written, validated when they are read."""

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import xarray as xr

from attention_limits.pipeline.combine import Misfit
from attention_limits.pipeline.damage import UNREADABLE, set_aside
from attention_limits.pipeline.errors import CubeError
from attention_limits.pipeline.files import digest
from attention_limits.pipeline.layout import data_digest, described, load
from attention_limits.pipeline.registry import registry

# The message of each reason of a Misfit.
_MISFITS = {
    "names": "these variables are in some parts and not in others: {}",
    "kind": "{}: has other dimensions or another type in some parts",
    "twice": "{}: two parts hold the same point",
    "dimension": "{}: has the dimension {} in another estimator and not in {}",
}
# The keys of a specification that distinguish one chunk from another.
_IDENTITY = ("family", "experiment", "estimator", "grid", "replicas")


@contextmanager
def misfits_named() -> Iterator[None]:
    """Raises CubeError with a message instead of Misfit."""
    try:
        yield
    except Misfit as error:
        raise CubeError([_MISFITS[error.reason].format(*error.about)]) from None


def annotate(dataset: xr.Dataset, family: str, grid: list[str]) -> xr.Dataset:
    """A copy of `dataset` with the registry's attributes on every variable and coordinate, and no other attributes.

    `grid` lists the grid keys of the experiment. A variable's dimensions must be some of (estimator, grid keys,
    replica) followed by exactly the registered ones. Only the attribute `estimator` of a variable is kept.
    Raises CubeError naming every unregistered variable or coordinate and every wrong dimension.
    """
    known = registry(family)
    leading, problems = ["estimator", *grid, "replica"], []
    for name in map(str, dataset.data_vars):
        record, dims = known.variables.get(name), dataset[name].dims
        if record is None:
            problems.append(f"{name}: not in the registry of variables of {family}")
            continue
        wanted = (*(dim for dim in leading if dim in dims), *record.dims)
        if dims != wanted:
            problems.append(f"{name}: has dimensions {dims}, must have {wanted}")
    for name in sorted({str(name) for name in dataset.coords} | {str(dim) for dim in dataset.dims}):
        if name not in known.coordinates:
            problems.append(f"{name}: not in the registry of coordinates of {family}")
        elif name not in dataset.coords:
            problems.append(f"{name}: the dimension has no coordinate values")
    if problems:
        raise CubeError(problems)
    return described(dataset, family)


class DamagedError(CubeError):
    """A file that does not have the content of its name: truncated, altered, or another file; `what` is the message."""

    def __init__(self, path: Path, what: str, repair: str):
        self.what = what
        super().__init__([f"{path}: {what}; repair: {repair}"])


def read(path: Path, repair: str, expect: dict[str, str] | None = None, chunk: dict | None = None) -> xr.Dataset:
    """Read a whole data file into memory and validate it.

    `repair` states how to make the file again. `expect` holds attributes that the file must have, `chunk` the specification whose
    grid and replicas it must have. Raises CubeError with the file and the repair when the file is missing or outdated, and
    DamagedError when it is truncated, damaged or foreign.
    """
    path = Path(path)

    def problem(what: str) -> DamagedError:
        return DamagedError(path, what, repair)

    if not path.is_file():
        raise CubeError([f"{path}: is missing; repair: {repair}"])
    try:
        dataset = load(path)
    except UNREADABLE as error:
        # Error numbers of the netCDF library are negative; positive ones come from the system and do not concern the content.
        if (getattr(error, "errno", None) or 0) > 0:
            raise CubeError([f"{path}: cannot be read: {error.strerror}"]) from None
        raise problem(f"is not a readable netCDF file ({' '.join(str(error).split())})") from None
    if "data_digest" not in dataset.attrs:
        raise problem("was not written by attention-limits")
    if dataset.attrs["data_digest"] != data_digest(dataset):
        raise problem("is damaged: its data do not agree with its checksum")
    spec = _of_json(dataset.attrs.get("spec"))
    if spec is None or dataset.attrs.get("spec_digest") != digest(spec):
        raise problem("is damaged: its specification does not agree with its checksum")
    if chunk is not None and any(spec.get(key) != chunk[key] for key in _IDENTITY):
        raise problem("is the file of another chunk")
    for key, value in (expect or {}).items():
        if dataset.attrs.get(key) != value:
            what = f"was made with another specification, seed or code (its {key} differs)"
            raise CubeError([f"{path}: {what}; repair: {repair}"])
    return dataset


def read_or_set_aside(
    path: Path, repair: str, expect: dict[str, str] | None = None, chunk: dict | None = None
) -> xr.Dataset:
    """Like `read`, but a damaged or foreign file is set aside, and the CubeError gives its new path."""
    try:
        return read(path, repair, expect, chunk)
    except DamagedError as error:
        aside = set_aside(path)
        raise CubeError([f"{path}: {error.what}; set aside as {aside}: the next run makes it again"]) from None


def remake(path: Path, config: Sequence[str] = ()) -> str:
    """The shell command that makes a file of the workflow again."""
    name = shlex.quote(str(path))
    return f"rm -f {name} && snakemake {name}" + (f" --config {shlex.join(config)}" if config else "")


def _of_json(text: str | None) -> dict | None:
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return None
    return value if isinstance(value, dict) else None
