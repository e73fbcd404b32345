"""One estimator on one grid, without a file: the specifications, the chunks and the bytes of the workflow."""

import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import get_args

import numpy as np
import xarray as xr

from attention_limits.interface.extras import missing
from attention_limits.interface.given import objects_of, with_names
from attention_limits.pipeline import cubes
from attention_limits.pipeline.chunks import is_current, merge, run_chunk
from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.estimator import Estimator, Experiment
from attention_limits.pipeline.experiment import Family, experiment_of, load_family
from attention_limits.pipeline.grid import single
from attention_limits.pipeline.progress import progress
from attention_limits.pipeline.specification import fields


def compute(
    estimator: str,
    model: Mapping | str | None = None,
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
) -> xr.Dataset:
    """Run one estimator, and return its cube: every variable over the grid and the replicas.

    The workflow gives the same numbers for an experiment of the same name, seed and keys.

    Parameters
    ----------
    estimator : str
        Family and estimator, `sequence_multi_index.state_evolution`. `estimators()` lists all of them.
    model : mapping or str, optional
        Parameters of the model, or the name of a model in `config/<family>/models.yaml` of the project. A link may be an object
        or a function of the caller; the cube records only its name.
    grid : mapping, optional
        Values by key: a number, a sequence of numbers, or `{start, stop, num}`. `describe(estimator)` lists the keys.
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

    Raises
    ------
    SpecError
        If a key or a value is not allowed; all problems are reported at once, before any compute. Also if a package is missing
        that only this estimator needs.
    CubeError
        If a file in `folder` is damaged.
    """
    family, name = _family(estimator)
    source = Path(project, "config", family.name, "experiments", f"{experiment}.yaml")
    if isinstance(model, Mapping) and (own := objects_of(model)):
        _require_file(own, workers, folder)
        model = with_names(model)
    document = _document(family, name, model, grid, replicas, solver, data, workers)
    try:
        made = experiment_of(source, document)
    except SpecError as error:
        prefixes = (f"{source}: estimators.{name}.", f"{source}: ")
        raise SpecError([_without(problem, prefixes) for problem in error.problems]) from None
    if seed < 0 or workers < 1:
        raise SpecError([f"seed, workers: {seed}, {workers}: allowed: whole numbers, seed ≥ 0, workers ≥ 1"])
    with tempfile.TemporaryDirectory() as temporary:
        results = str(temporary if folder is None else folder)
        for part in (*made.data.values(), *made.estimators.values()):
            _run(made, part, seed, results, workers)
        cube = Path(temporary, f"{experiment}.nc")
        merge(made, seed, results, cube)
        return cubes.read(cube, repair="compute again")


def open(path: str | Path) -> xr.Dataset:
    """The cube in the file `path`, in memory. Raises CubeError when the file is missing, damaged or foreign."""
    return cubes.read(Path(path), cubes.remake(Path(path)))


def _family(estimator: str) -> tuple[Family, str]:
    family, _, name = estimator.partition(".")
    try:
        found = load_family(family)
    except ModuleNotFoundError:
        raise SpecError([f"{estimator}: no such family; allowed: a name that estimators() lists"]) from None
    if name not in found.estimators:
        raise SpecError([f"{estimator}: no such estimator; allowed: {', '.join(found.estimators)}"])
    return found, name


def _document(family: Family, name: str, model, grid, replicas, solver, data, workers: int) -> dict:
    """The content that an experiment file with the same meaning has."""
    axes = {key: _axis(values) for key, values in (grid or {}).items()}
    written = {"grid": axes, "replicas": _plain(replicas), "solver": _plain(solver or {})}
    if workers > 1:
        # Replicas share no work, while neighbours on a grid may.
        written["chunk"] = {"replicas": 1} if replicas >= workers else single(axes)
    document = {"title": f"{family.name}.{name}", "description": "Computed from Python.", "model": _plain(model or {})}
    reads = family.estimators[name].model_fields.get("reads")
    if reads is not None and (data or reads.is_required()):
        kind = next(iter(data), None) if data else get_args(reads.annotation)[0]
        scanned = fields(family.data[kind], "grid") if kind in family.data else ()
        shared = {key: axis for key, axis in axes.items() if key in scanned}
        settings = _plain((data or {}).get(kind, {}))
        document["data"] = {kind: {"grid": shared, "replicas": replicas, "solver": settings}}
        written["reads"] = kind
    return {**document, "estimators": {name: written}}


def _require_file(keys: list[str], workers: int, folder) -> None:
    """Refuse what an object of the caller cannot do: other processes do not have it, and no digest sees an edit of it."""
    hint = "write it into a file and give 'path/to/file.py:name'"
    wrong = [("workers", workers > 1), ("folder", folder is not None)]
    if refused := [name for name, given in wrong if given]:
        raise SpecError([f"{name}: not with an object as model.{key}; {hint}" for name in refused for key in keys])


def _axis(values):
    if isinstance(values, Mapping | str):
        return _plain(values)
    return {"values": np.atleast_1d(values).tolist()}


def _plain(value):
    """Plain data: numpy's numbers and arrays as those of Python."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _without(problem: str, prefixes: Iterable[str]) -> str:
    for prefix in prefixes:
        problem = problem.removeprefix(prefix)
    return problem


def _run(made: Experiment, part: Estimator, seed: int, results: str, workers: int) -> None:
    """Compute the chunks of an estimator, or of data, that the folder does not hold."""
    jobs = []
    for chunk in part.chunks:
        path = Path(part.path(results, chunk))
        if not is_current(path, part, chunk, seed):
            jobs.append((made, part, chunk, seed, path, results))
    if workers == 1:
        for job in jobs:
            _chunk(job)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for _ in progress(pool.map(_chunk, jobs), len(jobs), part.name):
            pass


def _chunk(job) -> None:
    try:
        run_chunk(*job)
    except ModuleNotFoundError as error:
        raise missing(error) from None
