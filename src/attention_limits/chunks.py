"""Compute one chunk: take the points that exist, compute the rest, write the file."""

import importlib
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xarray as xr

from attention_limits import cubes
from attention_limits.combine import fill, union
from attention_limits.digests import chunk_attributes, chunk_code, point_digest
from attention_limits.errors import CubeError
from attention_limits.files import canonical_json
from attention_limits.grid import Chunk
from attention_limits.layout import common_attributes, write_atomic
from attention_limits.project import RESULTS, data_folder
from attention_limits.provenance import versions
from attention_limits.rng import Streams
from attention_limits.spec import Estimator, Experiment

_NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"


def run_chunk(
    experiment: Experiment, estimator: Estimator, chunk: Chunk, seed: int, output: Path, results: str = RESULTS
) -> int:
    """Make the file of one chunk and return how many of its points were computed rather than copied.

    Points that sound chunk files in the folder of `output` hold, under the same model, solver, seed and code,
    are copied; the kind is run on the fewest full blocks that cover the others. Data that the kind reads are made first
    where their files below `results` are missing. Raises CubeError when the kind returns something else than it was asked for.
    """
    attributes = chunk_attributes(estimator, chunk, point_digest(estimator, seed))
    spec = estimator.effective(chunk)
    pieces, missing = _existing(spec, attributes["point_digest"], output)
    computed = int(missing.sum())
    if computed:
        run = importlib.import_module(estimator.module).run
        streams = Streams(seed, estimator.family, estimator.experiment)
        # Where things are, and how they are opened, decides no number: neither is kept in the file.
        tools = {"project": str(estimator.project)}
        if estimator.reads is not None:
            tools["data"] = DataFiles(experiment, estimator, seed, results)
        for block in blocks(missing):
            *grid, replicas = block
            values = {key: [spec["grid"][key][i] for i in index] for key, index in zip(spec["grid"], grid, strict=True)}
            part = {**spec, "grid": values, "replicas": [spec["replicas"][i] for i in replicas]}
            pieces.append(_checked(run({**part, **tools}, streams), part, estimator.module))
    with cubes.misfits_named():
        dataset = cubes.annotate(fill(pieces, union(pieces)), estimator.family, list(spec["grid"]))
    dataset.attrs = {
        **common_attributes(experiment, seed, versions()),
        "title": f"{experiment.title}: {estimator.name}, part {chunk.name}",
        "spec": canonical_json(spec),
        **attributes,
        "code_digest": chunk_code(estimator),
    }
    write_atomic(dataset, output)
    return computed


class DataFiles:
    """The data that one estimator reads, opened point by point: what `spec["data"]` of its `run` is."""

    def __init__(self, experiment: Experiment, estimator: Estimator, seed: int, results: str):
        self._experiment, self._reader, self._seed, self._results = experiment, estimator, seed, results
        self._folder = Path(data_folder(results, experiment.scale, estimator))
        self._point_digest = point_digest(estimator.reads, seed)

    def __call__(self, replica: int, **point: float) -> xr.Dataset:
        """The dataset of one point, without the dimensions of the grid and the replica, in memory.

        `point` holds the grid values of the reader; those the data do not scan are ignored. A file that is missing,
        damaged or outdated is made first, and a line says so.
        """
        data, chunk = self._reader.reads, self._reader.data_chunk(replica, point)
        path = self._folder / f"{chunk.name}.nc"
        expect = chunk_attributes(data, chunk, self._point_digest)
        try:
            dataset = cubes.read(path, repair="made anew", expect=expect)
        except CubeError as error:
            print(f"{error}: made for {self._reader.name}; remove it when no estimator needs it any more")
            run_chunk(self._experiment, data, chunk, self._seed, path, self._results)
            dataset = cubes.read(path, repair=f"rm -f {shlex.quote(str(path))}", expect=expect)
        return dataset.isel({**dict.fromkeys(data.grid, 0), "replica": 0}, drop=True)


def blocks(missing: np.ndarray) -> Iterator[tuple[list[int], ...]]:
    """Cover the true places of a truth array of any number of axes by disjoint outer products of indices.

    Indices of the first axis whose remainder looks the same share a block, axis by axis.
    """
    if missing.ndim == 1:
        index = np.flatnonzero(missing).tolist()
        if index:
            yield (index,)
        return
    alike: dict[bytes, list[int]] = {}
    for index, rest in enumerate(missing):
        alike.setdefault(rest.tobytes(), []).append(index)
    for index in alike.values():
        for rest in blocks(missing[index[0]]):
            yield (index, *rest)


def _existing(spec: dict, point_digest: str, output: Path) -> tuple[list[xr.Dataset], np.ndarray]:
    """The wanted points other files of the folder hold, as datasets, and which points none holds."""
    axes = {**spec["grid"], "replica": spec["replicas"]}
    missing = np.ones([len(values) for values in axes.values()], dtype=bool)
    position = [{value: i for i, value in enumerate(values)} for values in axes.values()]
    pieces = []
    for path in sorted(output.parent.glob("[!.]*.nc")):
        if path == output or not missing.any() or not _may_overlap(path.stem, spec):
            continue
        try:
            held = cubes.read(path, repair="none needed", expect={"point_digest": point_digest})
        except CubeError as error:
            print(f"not reused: {error}", file=sys.stderr)
            continue
        shared = [
            [index[value] for value in held[name].values.tolist() if value in index]
            for name, index in zip(axes, position, strict=True)
        ]
        found = np.zeros_like(missing)
        found[np.ix_(*shared)] = True
        found &= missing
        missing &= ~found
        for block in blocks(found):
            wanted = {
                name: [values[i] for i in index] for (name, values), index in zip(axes.items(), block, strict=True)
            }
            pieces.append(held.sel(wanted))
    return pieces, missing


def _may_overlap(name: str, spec: dict) -> bool:
    """Whether a chunk of this name can hold a wanted point, told from the ranges in the name.

    This spares opening thousands of files for each job. Names round to six digits, hence the margin.
    """
    axes = {**spec["grid"], "replicas": spec["replicas"]}
    pattern = "_".join(f"{key}({_NUMBER})(?:-({_NUMBER}))?" for key in axes) + "_[0-9a-f]{8}"
    match = re.fullmatch(pattern, name)
    if not match:
        return False
    ends = iter(match.groups())
    for values, (low, high) in zip(axes.values(), zip(ends, ends, strict=True), strict=True):
        low, high = float(low), float(high or low)
        margin = 1e-5 * max(abs(low), abs(high))
        if not any(low - margin <= value <= high + margin for value in values):
            return False
    return True


def _checked(dataset: xr.Dataset, spec: dict, module: str) -> xr.Dataset:
    """`dataset` when it covers exactly the block it was asked for. Raises CubeError otherwise."""
    axes = {**spec["grid"], "replica": spec["replicas"]}
    problems = []
    for name, values in axes.items():
        if name not in dataset.coords or dataset[name].values.tolist() != list(values):
            problems.append(f"{module}: run() returned other values of {name} than the {values} asked for")
    for name in dataset.data_vars:
        if dataset[name].dims[: len(axes)] != tuple(axes):
            problems.append(f"{module}: {name} has dimensions {dataset[name].dims}, must begin with {tuple(axes)}")
    for name in dataset.dims:
        if name not in dataset.coords:
            problems.append(f"{module}: the dimension {name} has no coordinate values")
    if problems:
        raise CubeError(problems)
    return dataset
