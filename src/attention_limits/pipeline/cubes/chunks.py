"""Files of chunks. A job copies the points that exist, computes the others, and writes one file; a merge joins all files."""

import functools
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from attention_limits.pipeline.base.errors import CubeError
from attention_limits.pipeline.base.files import canonical_json
from attention_limits.pipeline.base.provenance import versions
from attention_limits.pipeline.base.streams import Streams
from attention_limits.pipeline.cubes import reader
from attention_limits.pipeline.cubes.combine import fill, union
from attention_limits.pipeline.cubes.cube_bytes import annotate, common_attributes, cube_of, write_atomic
from attention_limits.pipeline.experiments.estimator import Estimator, Experiment
from attention_limits.pipeline.experiments.grid import Chunk

# A number in the name of a chunk.
_NUMBER = r"-?[0-9.]+(?:e-?[0-9]+)?"


def run_chunk(experiment: Experiment, estimator: Estimator, chunk: Chunk, seed: int, output: Path, results: str) -> int:
    """Write the file of one chunk and return the number of computed (not copied) points.

    Points are copied from valid chunk files in the folder of `output` with the same model, solver, seed and code. The estimator
    runs on full blocks that cover the other points. `results` is the folder of the scale; it contains the data that the estimator
    reads. Raises CubeError when these data are missing, and when the dataset of the estimator is not the requested one.
    """
    attributes, spec = estimator.attributes(chunk, seed), estimator.effective(chunk)
    pieces, missing = _existing(spec, attributes["point_digest"], _other_files(estimator, chunk, output.parent))
    asked = estimator.asked(chunk)
    if estimator.reads is not None:
        asked["data"] = _points_of_data(estimator.reads, seed, results)
    streams = Streams(seed, estimator.family, estimator.experiment)
    for *grid, replicas in blocks(missing):
        values = {key: [spec["grid"][key][i] for i in index] for key, index in zip(spec["grid"], grid, strict=True)}
        block = {**asked, "grid": values, "replicas": [spec["replicas"][i] for i in replicas]}
        run = importlib.import_module(estimator.module).run
        made = annotate(run(block, streams), estimator.family, list(spec["grid"]))
        for name, wanted in {**values, "replica": block["replicas"]}.items():
            if name not in made.coords or made[name].values.tolist() != wanted:
                raise CubeError(
                    [f"{estimator.module}: run() returned other values of {name} than the requested {wanted}"]
                )
            for variable in made.values():
                if name not in variable.dims:
                    raise CubeError([f"{estimator.module}: {variable.name} has no dimension {name}"])
        pieces.append(made)
    dataset = annotate(fill(pieces), estimator.family, list(spec["grid"]))
    dataset.attrs = {
        **common_attributes(experiment, seed, versions()),
        "title": f"{experiment.title}: {estimator.name}, part {chunk.name}",
        "spec": canonical_json(spec),
        **attributes,
        "code_digest": estimator.code,
    }
    write_atomic(dataset, output)
    return int(missing.sum())


def is_current(path: Path, estimator: Estimator, chunk: Chunk, seed: int) -> bool:
    """Whether the file of a chunk exists, is sound, and was made with this specification, seed and code."""
    try:
        reader.read(path, "none needed", estimator.attributes(chunk, seed))
    except CubeError:
        return False
    return True


def merge(experiment: Experiment, seed: int, results: str, output: Path, config: Sequence[str] = ()) -> None:
    """Read every chunk of an experiment below the folder `results` of its scale, combine them and write the cube.

    A variable of several estimators gets the dimension `estimator`. Raises one CubeError for all missing, damaged and outdated
    chunks, each with the command that makes it again (with the options `config`), and with one command for all.
    """
    problems, datasets, refused = [], {}, []
    for name, estimator in experiment.estimators.items():
        read = []
        for chunk in estimator.chunks:
            path = Path(estimator.path(results, chunk))
            try:
                read.append(reader.read(path, reader.remake(path, config), estimator.attributes(chunk, seed)))
            except CubeError as error:
                problems += error.problems
                refused.append(path)
        if not problems:
            axes = {**estimator.grid, "replica": list(range(estimator.replicas))}
            datasets[name] = fill(read, {**union(read), **{key: np.array(values) for key, values in axes.items()}})
    if len(refused) > 1:
        problems.append(f"{output}: {len(refused)} chunks to repair; all: {reader.remake(output, config, refused)}")
    if problems:
        raise CubeError(problems)
    write_atomic(cube_of(experiment, datasets, seed, versions()), output)


def _points_of_data(data: Estimator, seed: int, results: str) -> Callable[..., xr.Dataset]:
    """`spec["data"]` of an estimator that reads `data`: (replica, **grid values) -> the dataset of a point, in memory.

    The dataset has no dimensions of the grid and the replica. Grid values that the data do not scan are ignored. Raises CubeError
    when the file is missing, damaged or outdated.
    """

    # Neighbours among the points lie in the same file.
    @functools.lru_cache(maxsize=1)
    def read(path: Path, **attributes: str) -> xr.Dataset:
        return reader.read(path, expect=attributes)

    def point_of_data(replica: int, **point: float) -> xr.Dataset:
        chunk = data.chunk_of[(*(point[key] for key in data.grid), replica)]
        dataset = read(Path(data.path(results, chunk)), **data.attributes(chunk, seed))
        place = chunk.replicas.index(replica)
        return dataset.isel({**dict.fromkeys(data.grid, 0), "replica": place}, drop=True)

    return point_of_data


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
    for place, rest in enumerate(missing):
        alike.setdefault(rest.tobytes(), []).append(place)
    for index in alike.values():
        for block in blocks(missing[index[0]]):
            yield (index, *block)


def _other_files(estimator: Estimator, chunk: Chunk, folder: Path) -> Iterator[Path]:
    """The files of a folder that may hold points of a chunk: not the present chunks, which have no common points.

    The names state the ends of each axis, so a job opens few of many files.
    """
    axes: dict[str, list] = {**chunk.grid, "replicas": chunk.replicas}
    pattern = re.compile("_".join(rf"{key}({_NUMBER})(?:-({_NUMBER}))?" for key in axes) + "_[0-9a-f]{8}")
    for path in sorted(folder.glob("[!.]*.nc")):
        ends = None if path.stem in estimator.chunk else pattern.fullmatch(path.stem)
        if ends is None:
            continue
        spans = zip(axes.values(), ends.groups()[::2], ends.groups()[1::2], strict=True)
        # Names have six digits.
        if all(
            any(float(low) <= float(f"{value:.6g}") <= float(high or low) for value in values)
            for values, low, high in spans
        ):
            yield path


def _existing(spec: dict, points: str, files: Iterable[Path]) -> tuple[list[xr.Dataset], np.ndarray]:
    """The wanted points that `files` hold, as datasets, and the array of the missing points."""
    axes = {**spec["grid"], "replica": spec["replicas"]}
    missing = np.ones([len(values) for values in axes.values()], dtype=bool)
    pieces = []
    for path in files:
        try:
            dataset = reader.read(path, repair="none needed", expect={"point_digest": points})
        except CubeError as error:
            print(f"not reused: {error}", file=sys.stderr)
            continue
        held = [np.isin(values, dataset[key]) for key, values in axes.items()]
        found = functools.reduce(np.logical_and.outer, held) & missing
        missing &= ~found
        for block in blocks(found):
            wanted = {key: [values[i] for i in at] for (key, values), at in zip(axes.items(), block, strict=True)}
            pieces.append(dataset.sel(wanted))
    return pieces, missing
