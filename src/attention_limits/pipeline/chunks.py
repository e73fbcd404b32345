"""Compute one chunk: copy the points that exist, compute the others, write the file."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xarray as xr

from attention_limits.pipeline import cubes
from attention_limits.pipeline.combine import fill
from attention_limits.pipeline.damage import UNREADABLE
from attention_limits.pipeline.digests import chunk_attributes, chunk_code, point_digest
from attention_limits.pipeline.errors import CubeError
from attention_limits.pipeline.estimator import Estimator, Experiment
from attention_limits.pipeline.files import canonical_json, replacing
from attention_limits.pipeline.grid import Chunk
from attention_limits.pipeline.layout import common_attributes, write_atomic
from attention_limits.pipeline.project import part_folder
from attention_limits.pipeline.provenance import versions
from attention_limits.pipeline.streams import Streams

INDEX = ".index.json"


def run_chunk(experiment: Experiment, part: Estimator, chunk: Chunk, seed: int, output: Path, results: str) -> int:
    """Write the file of one chunk and return the number of computed (not copied) points.

    Points are copied from valid chunk files in the folder of `output` with the same model, solver, seed and code. The estimator
    runs on full blocks that cover the other points. `results` is the folder of the scale; it contains the data that the estimator
    reads. Raises CubeError when these data are missing, and when the dataset of the estimator is not the requested one.
    """
    attributes = chunk_attributes(part, chunk, point_digest(part, seed))
    spec = part.effective(chunk)
    pieces, missing = _existing(spec, attributes["point_digest"], _other_files(part, output))
    computed = int(missing.sum())
    if computed:
        run = importlib.import_module(part.module).run
        streams = Streams(seed, part.family, part.experiment)
        # The place of files and the way to open them decide no number, so the file does not contain them.
        tools = {"project": str(part.project)}
        if part.reads is not None:
            tools["data"] = DataFiles(part.reads, seed, results)
        for block in blocks(missing):
            *grid, replicas = block
            values = {key: [spec["grid"][key][i] for i in index] for key, index in zip(spec["grid"], grid, strict=True)}
            asked = {**spec, "grid": values, "replicas": [spec["replicas"][i] for i in replicas]}
            pieces.append(_checked(run({**asked, **tools}, streams), asked, part.module))
    with cubes.misfits_named():
        dataset = cubes.annotate(fill(pieces), part.family, list(spec["grid"]))
    dataset.attrs = {
        **common_attributes(experiment, seed, versions()),
        "title": f"{experiment.title}: {part.name}, part {chunk.name}",
        "spec": canonical_json(spec),
        **attributes,
        "code_digest": chunk_code(part),
    }
    write_atomic(dataset, output)
    return computed


def is_current(path: Path, part: Estimator, chunk: Chunk, points: str) -> bool:
    """Whether `path` is a sound file of a chunk; `points` is the digest of its points."""
    try:
        cubes.read(path, cubes.remake(path), chunk_attributes(part, chunk, points))
    except CubeError:
        return False
    return True


class DataFiles:
    """The data that one estimator reads, opened point by point. An instance is `spec["data"]` of its `run`."""

    def __init__(self, data: Estimator, seed: int, results: str):
        self._data, self._folder = data, Path(part_folder(results, data))
        self._points = point_digest(data, seed)

    def __call__(self, replica: int, **point: float) -> xr.Dataset:
        """The dataset of one point, without the dimensions of the grid and the replica, in memory.

        `point` holds the grid values of the estimator; keys that the data do not scan are ignored. Raises CubeError when the file
        is missing, damaged or outdated.
        """
        chunk = Chunk({key: [point[key]] for key in self._data.grid}, [replica])
        path = self._folder / f"{chunk.name}.nc"
        dataset = cubes.read(path, cubes.remake(path), chunk_attributes(self._data, chunk, self._points))
        return dataset.isel({**dict.fromkeys(self._data.grid, 0), "replica": 0}, drop=True)


def blocks(missing: np.ndarray) -> Iterator[tuple[list[int], ...]]:
    """Cover the true entries of a boolean array of any number of axes by disjoint outer products of indices.

    Indices of the first axis with equal subarrays are in one block; the subarrays are covered in the same way.
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


def _other_files(part: Estimator, output: Path) -> list[Path]:
    """The chunk files in the folder of `output`, without the present chunks, because these have no common points."""
    there = [path for path in sorted(output.parent.glob("[!.]*.nc")) if path.name != output.name]
    planned = {chunk.name for chunk in part.chunks} if there else ()
    return [path for path in there if path.stem not in planned]


def _existing(spec: dict, points: str, files: list[Path]) -> tuple[list[xr.Dataset], np.ndarray]:
    """The wanted points that `files` hold, as datasets, and the array of the missing points."""
    axes = {**spec["grid"], "replica": spec["replicas"]}
    missing = np.ones([len(values) for values in axes.values()], dtype=bool)
    position = [{value: i for i, value in enumerate(values)} for values in axes.values()]
    pieces = []
    for path, (made_by, held) in _index(files, list(axes)).items():
        if made_by != points:
            continue
        shared = [[at[value] for value in values if value in at] for values, at in zip(held, position, strict=True)]
        found = np.zeros_like(missing)
        found[np.ix_(*shared)] = True
        found &= missing
        if not found.any():
            continue
        try:
            dataset = cubes.read(path, repair="none needed", expect={"point_digest": points})
        except CubeError as error:
            print(f"not reused: {error}", file=sys.stderr)
            continue
        missing &= ~found
        for block in blocks(found):
            wanted = {key: [values[i] for i in at] for (key, values), at in zip(axes.items(), block, strict=True)}
            pieces.append(dataset.sel(wanted))
    return pieces, missing


def _index(files: list[Path], axes: list[str]) -> dict[Path, tuple[str, list[list[float]]]]:
    """By file: the digest of its points, and its values of each axis.

    A file in the folder stores the index, so a job opens only the files that are new since the last job.
    """
    import netCDF4

    if not files:
        return {}
    path = files[0].parent / INDEX
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    found, changed = {}, False
    for file in files:
        try:
            status = file.stat()
        except FileNotFoundError:
            # Snakemake removes the file of a job before the job starts.
            continue
        stamp = [status.st_mtime_ns, status.st_size]
        if known.get(file.name, [None])[0] != stamp:
            try:
                with netCDF4.Dataset(file) as opened:
                    held = [getattr(opened, "point_digest", ""), [opened[key][:].tolist() for key in axes]]
            except UNREADABLE:
                held = ["", []]
            known[file.name], changed = [stamp, *held], True
        found[file] = known[file.name][1:]
    if changed:
        with replacing(path) as temporary:
            temporary.write_text(json.dumps({file.name: known[file.name] for file in found}), encoding="utf-8")
    return found


def _checked(dataset: xr.Dataset, spec: dict, module: str) -> xr.Dataset:
    """`dataset` if it covers exactly the requested block. Raises CubeError otherwise."""
    axes = {**spec["grid"], "replica": spec["replicas"]}
    problems = []
    for name, values in axes.items():
        if name not in dataset.coords or dataset[name].values.tolist() != list(values):
            problems.append(f"{module}: run() returned other values of {name} than the requested {values}")
    for name in dataset.data_vars:
        if dataset[name].dims[: len(axes)] != tuple(axes):
            problems.append(f"{module}: {name} has dimensions {dataset[name].dims}, must begin with {tuple(axes)}")
    for name in dataset.dims:
        if name not in dataset.coords:
            problems.append(f"{module}: the dimension {name} has no coordinate values")
    if problems:
        raise CubeError(problems)
    return dataset
