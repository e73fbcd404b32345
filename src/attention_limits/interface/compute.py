"""One estimator on one grid, without a file: the specifications, the chunks and the bytes of the workflow."""

import inspect
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
import xarray as xr

from attention_limits.interface.describe import family_and_name
from attention_limits.interface.extras import extras
from attention_limits.interface.given import (
    FAMILIES,
    OBJECTS,
    bare,
    import_anew,
    named_as_given,
    objects_of,
    with_names,
)
from attention_limits.interface.workers import Task, workers_of
from attention_limits.pipeline.base.arguments import path_of, require, whole_number
from attention_limits.pipeline.base.errors import SpecError, allowed_names, did_you_mean
from attention_limits.pipeline.base.files import require_place
from attention_limits.pipeline.base.progress import compilation_reported, progress
from attention_limits.pipeline.cubes import reader
from attention_limits.pipeline.cubes.chunks import is_current, merge
from attention_limits.pipeline.experiments.estimator import Estimator, Experiment
from attention_limits.pipeline.experiments.experiment import AXIS, Family
from attention_limits.pipeline.experiments.grid import Chunk
from attention_limits.pipeline.experiments.messages import json_schema
from attention_limits.pipeline.experiments.specification import NAME, ONE_VALUE, Specification, fields
from attention_limits.pipeline.experiments.yaml_reader import read_yaml
from attention_limits.pipeline.notices import report_own_models

# The replicas are cut into at most this many chunks. A kill loses only the running chunk; each chunk appears when it is done.
MOST_CHUNKS = 8
# With several workers there are at most so many chunks, and this number for each worker: then none waits long for the last chunk.
# A chunk costs some 40 ms itself. The first number serves up to 16 workers, so that they cut in one way: where an estimator
# computes whole curves, the way decides the last digits.
MOST_SHARED, MOST_OF_WORKER = 64, 4
# The name of an experiment is a folder.
MOST_LETTERS = 100
_FINISHED = "a function of three arguments: a dataset, the number of points so far, and that of all points"


def compute(
    estimator: str,
    model: Mapping | str | Any = None,
    grid: Mapping | None = None,
    *,
    replicas: int = 1,
    seed: int = 0,
    solver: Mapping | None = None,
    data: Mapping | None = None,
    experiment: str = "interactive",
    workers: int = 1,
    folder: str | Path | None = None,
    project: str | Path = ".",
    finished: Callable[[xr.Dataset, int, int], None] | None = None,
) -> xr.Dataset:
    """Run one estimator, and return its cube: every variable over the grid and the replicas.

    The workflow gives the same numbers for an experiment of the same name, seed and keys.

    Parameters
    ----------
    estimator : str
        Family and estimator, `sequence_multi_index.state_evolution`. `estimators()` lists all of them.
    model : mapping, str or link, optional
        Parameters of the model, or the name of a model in `config/<family>/models.yaml` of the project. Any other name, or an
        object of the caller, alone stands for `{"link": ...}` or `{"channel": ...}`. A link may be an object, or a function of
        the fields with `rows`, `tokens` and `noise` (docs/links.md); the cube records its name.
    grid : mapping, optional
        Values by key: a number, a sequence of numbers, or `{"start": 0, "stop": 1, "num": 11}`. `describe(estimator)` lists the
        keys.
    replicas : int
        Independent repetitions at each grid value.
    seed : int
        Root seed of all random streams.
    solver : mapping, optional
        Numerical settings; each has a default.
    data : mapping, optional
        Solver settings of the data that the estimator reads. It reads the data of its first kind unless `{name: settings}` names
        another.
    experiment : str
        Name of the experiment. It enters the random streams.
    workers : int
        Processes that share the points.
    folder : path, optional
        Folder of results, as the workflow has it. A later call, or an experiment of the workflow, computes only the points that
        it does not hold. Without it nothing is kept.
    project : path
        Folder that relative paths of the model start from, and that holds `config/`, if there is one.
    finished : callable, optional
        Called after each chunk with its dataset, the number of points so far, and that of all points.

    Raises
    ------
    SpecError
        If a key or a value is not allowed; all problems are reported at once, before any compute. Also if a package is missing
        that only this estimator needs.
    CubeError
        If a file in `folder` is damaged.

    Examples
    --------
    The Bayes-optimal error of softmax attention of two tokens and width d/2; it vanishes from n/d² = 0.1875 on.

    >>> import attention_limits as al
    >>> cube = al.compute(
    ...     "attention_indexed.state_evolution",
    ...     model={"channel": "softmax", "tokens": 2, "ratio": 0.5},
    ...     grid={"alpha": [0.05, 0.2]},
    ... )
    >>> cube.mmse.squeeze().round(3).values.tolist()
    [0.724, 0.0]
    """
    family, name = family_and_name(estimator)
    if name not in family.estimators:
        raise SpecError([f"{estimator}: is data, not an estimator; {allowed_names(name, family.estimators)}"])
    seed, workers = whole_number("seed", seed, 0), whole_number("workers", workers, 1)
    for key, section in (("grid", grid), ("solver", solver), ("data", data)):
        example = _example(family.estimators[name], key)
        require(isinstance(section, Mapping | None), key, section, f"a mapping{example}")
    if data:
        reads = family.estimators[name].model_fields.get("reads")
        require(reads is not None, "data", data, f"nothing, because {estimator} reads no data")
        one = len(data) == 1 and all(isinstance(item, Mapping) for item in data.values())
        require(one, "data", data, "{name: settings} of one kind of data")
    named = isinstance(experiment, str) and len(experiment) <= MOST_LETTERS and re.fullmatch(NAME, experiment)
    require(bool(named), "experiment", experiment, f"a name of at most {MOST_LETTERS} letters a-z, 0-9 and _")
    require(finished is None or _takes(finished, 3), "finished", finished, _FINISHED)
    project = path_of("project", project, "a folder")
    if folder is not None:
        folder = path_of("folder", folder, "a folder")
        require_place(folder / "cube.nc")
    source = project / "config" / family.name / "experiments" / f"{experiment}.yaml"
    model = _keys_of(model, family.estimators[name], source.parents[1] / "models.yaml")
    if isinstance(model, Mapping) and (own := objects_of(model)):
        _require_file(own, workers, folder)
        model = with_names(model)
    document = _document(family, name, model, grid, replicas, solver, data, workers)
    task = Task(str(source), document, seed, results="")
    try:
        made = task.experiment()
        if import_anew(
            {file: name for item in made.all_estimators.values() for file, name in item.imported_files.items()}
        ):
            made = task.experiment()
    except SpecError as error:
        places = [
            (f"estimators.{name}.resources.memory", "memory of this machine for each worker"),
            (f"estimators.{name}.", ""),
        ]
        for kind in document.get("data", {}):
            places += [(f"data.{kind}.solver.", f"data.{kind}."), (f"data.{kind}.grid.", "grid.")]
        problems = [_placed(problem.removeprefix(f"{source}: "), places) for problem in error.problems]
        with named_as_given():
            raise SpecError(dict.fromkeys(map(_as_a_sequence, problems))) from None
    with tempfile.TemporaryDirectory() as temporary:
        task = replace(task, results=str(temporary if folder is None else folder))
        with compilation_reported():
            for item in made.all_estimators.values():
                _run(made, item, task, workers, finished if item.name == name else None)
        cube = Path(temporary, f"{experiment}.nc")
        merge(made, seed, task.results, cube)
        return reader.read(cube, repair="compute again")


def open(path: str | Path) -> xr.Dataset:
    """The cube in the file `path`, in memory.

    A cube that a program changed (a part of it, a further variable) opens with a warning. Raises CubeError when the file is
    missing, damaged or foreign, SpecError when `path` is no path.

    Examples
    --------
    >>> import attention_limits as al
    >>> model = {"channel": "linear", "tokens": 2, "ratio": 0.5}
    >>> cube = al.compute("attention_indexed.state_evolution", model, {"alpha": [0.1, 0.2]})
    >>> cube.to_netcdf("cube.nc")
    >>> al.open("cube.nc").equals(cube)
    True
    """
    return reader.read(path_of("path", path, "a cube"), changed=True)


def _takes(function: Any, number: int) -> bool:
    """Whether a call with so many arguments fits the signature of a function; one without a known signature may."""
    try:
        inspect.signature(function).bind(*range(number))
    except TypeError:
        return False
    except ValueError:
        pass
    return callable(function)


def _keys_of(model: Any, cls: type[Specification], file: Path) -> Mapping | str | None:
    """The keys of a model that a caller gives by a name, or as an object; the name of a model in the `file` stays."""
    if isinstance(model, Mapping | None):
        return model
    key = next((key for key in FAMILIES if key in fields(cls, "model")), None)
    known = read_yaml(file) if isinstance(model, str) and file.is_file() else {}
    if key is None or (isinstance(model, str) and (model in known or did_you_mean(model, known))):
        return model
    return bare(model, key)


def _document(
    family: Family,
    name: str,
    model: Mapping | str | None,
    grid: Mapping | None,
    replicas: int,
    solver: Mapping | None,
    data: Mapping | None,
    workers: int,
) -> dict:
    """The content that an experiment file with the same meaning has."""
    axes, replicas = {key: _axis(key, values) for key, values in (grid or {}).items()}, _plain(replicas)
    # No queue limits the memory, but the machine does.
    resources = {"memory": max(100, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (10**6 * workers))}
    written = {"grid": axes, "replicas": replicas, "solver": _plain(solver or {}), "resources": resources}
    # Replicas share no work, while neighbours on a grid may.
    count = max(1, replicas) if isinstance(replicas, int) else 1
    if workers > 1:
        others = {} if count >= workers else {key: _length(axis) for key, axis in axes.items()}
        written["chunk"] = _sizes({"replicas": count, **others}, max(MOST_SHARED, MOST_OF_WORKER * workers))
    elif count > 1:
        written["chunk"] = _sizes({"replicas": count}, MOST_CHUNKS)
    document = {
        "title": f"{family.name}.{name}",
        "description": "Computed without an experiment file.",
        "model": {} if model is None else _plain(model),
    }
    reads = family.estimators[name].model_fields.get("reads")
    if reads is not None and (data or reads.is_required()):
        kind = next(iter(data), None) if data else get_args(reads.annotation)[0]
        scanned = fields(family.data[kind], "grid") if kind in family.data else ()
        shared = {key: axis for key, axis in axes.items() if key in scanned}
        settings = _plain((data or {}).get(kind, {}))
        document["data"] = {kind: {"grid": shared, "replicas": replicas, "solver": settings, "resources": resources}}
        written["reads"] = kind
    return {**document, "estimators": {name: written}}


def _sizes(lengths: Mapping[str, int], most: int) -> dict[str, int]:
    """Sizes of blocks along axes of these `lengths`: at most `most` blocks together, most for the first axes."""
    sizes = {}
    for key, length in lengths.items():
        sizes[key] = -(-length // most)
        most //= -(-length // sizes[key])
    return sizes


def _length(axis: Any) -> int:
    """The number of values of an axis as the caller wrote it; 1 where it is not valid, which the specification refuses."""
    written = axis if isinstance(axis, Mapping) else {}
    lists = [written[key] for key in ("values", "also") if isinstance(written.get(key), list)]
    even = written.get("num", 0)
    return max(1, sum(map(len, lists)) + (even if isinstance(even, int) else 0))


def _example(cls: type[Specification], section: str) -> str:
    """How a grid is written, with a key of an estimator of this class, and all its keys; else empty."""
    node = json_schema(cls)["properties"].get("grid", {})
    keys = list(node.get("properties", ())) if section == "grid" else []
    if not keys:
        return ""
    key = next(iter(node.get("required", keys)), keys[0])
    forms = f'{{"{key}": [0.1, 0.2]}} or {{"{key}": {{"start": 0.1, "stop": 0.2, "num": 11}}}}'
    return f" of values by key: {forms}; keys: {', '.join(keys)}"


def _require_file(keys: list[str], workers: int, folder: str | Path | None) -> None:
    """Refuse arguments that an object of the caller excludes: only this process has it, and no digest notices an edit of it."""
    hint = "write it into a file and give 'path/to/file.py:name'"
    wrong = [("workers", workers > 1), ("folder", folder is not None)]
    if refused := [name for name, given in wrong if given]:
        raise SpecError([f"{name}: not with an object as model.{key}; {hint}" for name in refused for key in keys])


def _axis(key: str, values: Any) -> Any:
    require(not isinstance(values, Set), f"grid.{key}", values, "a list, because a set has no order")
    if isinstance(values, Mapping | str):
        return _plain(values)
    # An array of numbers and texts would hold texts alone.
    return {"values": _plain(values) if isinstance(values, list | tuple) else np.atleast_1d(values).tolist()}


def _plain(value: Any) -> Any:
    """Plain data: numpy's numbers and arrays, fractions and decimals as numbers of Python."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Fraction | Decimal):
        return float(value)
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _placed(problem: str, places: Iterable[tuple[str, str]]) -> str:
    """A problem with the place in the call of `compute`, not in a file."""
    for long, short in places:
        if problem.startswith(long):
            return short + problem.removeprefix(long)
    return problem


def _as_a_sequence(problem: str) -> str:
    """A problem with one of the values of a grid key as the caller wrote them: `grid.alpha[0]`, not `grid.alpha.values.0`."""
    placed = re.sub(
        r"^grid\.(\w+)\.values(?:\.(\d+))?:",
        lambda found: f"grid.{found[1]}{f'[{found[2]}]' if found[2] else ''}:",
        problem,
    )
    if not placed.startswith("grid."):
        return placed
    return placed.replace(AXIS, f"a number, a list of numbers, or {AXIS}").replace(f" ({ONE_VALUE})", "")


def _run(made: Experiment, estimator: Estimator, task: Task, workers: int, finished: Callable | None) -> None:
    """Compute the chunks of an estimator, or of data, that the folder does not hold; report each when it is done."""
    paths = [(chunk, Path(estimator.path(task.results, chunk))) for chunk in estimator.chunks]
    files = [(chunk, path, is_current(path, estimator, chunk, task.seed)) for chunk, path in paths]
    jobs = [chunk for chunk, _, there in files if not there]
    done, total = 0, sum(chunk.size for chunk in estimator.chunks)
    if jobs:
        # Here and not in each of several workers. What is compiled for it, this process or the folder of code keeps.
        report_own_models(estimator, OBJECTS)

    @extras()
    def compute_here(chunk: Chunk) -> None:
        task.compute(made, estimator, chunk)

    with workers_of(task, min(workers, len(jobs))) if jobs and workers > 1 else nullcontext() as elsewhere:
        computed = elsewhere(estimator.name, jobs) if elsewhere else map(compute_here, jobs)
        for chunk, path, there in progress(files, len(files), f"chunks of {estimator.name}"):
            if not there:
                next(computed)
            done += chunk.size
            if finished is not None:
                finished(reader.read(path, repair="compute again"), done, total)
