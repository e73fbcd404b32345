"""Specifications drawn from the class of an estimator over the whole range that it allows, and their results.

A promise test draws a specification, computes it through the functions of the workflow, and compares the result with a slow
and independent implementation. A specification is right, flagged, or refused: `compute` returns the datasets or the refusal.
"""

import atexit
import functools
import importlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr
import yaml
from hypothesis import strategies as st

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.base.streams import Streams
from attention_limits.pipeline.experiments.experiment import load_experiment, load_family
from attention_limits.pipeline.experiments.messages import json_schema

# Below the smallest bound that a class excludes, and above it, values are drawn evenly in logarithm over these decades.
DECADES = 12


@dataclass(frozen=True)
class Refused:
    """The lines by which a specification was refused before any job."""

    problems: tuple[str, ...]


def node(family: str, estimator: str, *keys: str) -> dict:
    """The allowed values of one key, as JSON Schema: `node("attention_indexed", "state_evolution", "model", "tokens")`.

    For a key of the grid these are the values of its axis.
    """
    known = load_family(family)
    found = json_schema({**known.data, **known.estimators}[estimator])
    for key in keys:
        found = found["properties"][key]
    return found["items"] if keys[:1] == ("grid",) and len(keys) == 2 else found


def whole_range(schema: dict) -> st.SearchStrategy:
    """Every value that a node of a number, a whole number, a truth value or an enumeration allows, its ends included."""
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "boolean":
        return st.booleans()
    if schema["type"] == "integer":
        return _whole_numbers(schema["minimum"], schema["maximum"])
    if schema["type"] == "number":
        return _numbers(schema)
    raise NotImplementedError(f"no strategy for {schema}: give one")


def _whole_numbers(low: int, high: int) -> st.SearchStrategy:
    # Sizes matter in proportion: half of the draws are even in logarithm.
    start = max(low, 1)
    logarithmic = st.floats(np.log(start), np.log(max(high, start))).map(
        lambda x: min(high, max(low, round(np.exp(x))))
    )
    return st.one_of(st.sampled_from([low, high]), logarithmic, st.integers(low, high))


def _numbers(schema: dict) -> st.SearchStrategy:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    first = float(np.nextafter(low, np.inf)) if "exclusiveMinimum" in schema else float(low)
    last = float(np.nextafter(high, -np.inf)) if "exclusiveMaximum" in schema else float(high)
    choices = [st.sampled_from([first, last]), st.floats(first, last)]
    if low >= 0:
        smallest = max(first, last * 10.0**-DECADES)
        choices.append(st.floats(np.log(smallest), np.log(last)).map(lambda x: float(np.clip(np.exp(x), first, last))))
    return st.one_of(choices)


def section(family: str, estimator: str, name: str, *keys: str, **given) -> st.SearchStrategy[dict]:
    """The keys `keys` of the section `model`, `grid` or `solver` over their whole range, and `given` strategies or values."""
    drawn = {key: whole_range(node(family, estimator, name, key)) for key in keys}
    fixed = {key: value if isinstance(value, st.SearchStrategy) else st.just(value) for key, value in given.items()}
    return st.fixed_dictionaries(drawn | fixed)


def document(estimator: str, model: dict, grid: dict, solver: dict | None = None, replicas: int = 1, **part) -> dict:
    """An experiment file of one estimator; a grid value that is no list stands alone. `part` holds its other keys."""
    axes = {key: {"values": value if isinstance(value, list) else [value]} for key, value in grid.items()}
    written = {"grid": axes, "replicas": replicas, "solver": solver or {}, **part}
    return {"title": "Promise", "description": "Drawn.", "model": model, "estimators": {estimator: written}}


def compute(family: str, written: dict, seed: int = 0) -> dict[str, xr.Dataset] | Refused:
    """The dataset of each estimator of an experiment file, from the whole pipeline up to `run`, or its refusal."""
    experiment = _loaded(family, written)
    if isinstance(experiment, Refused):
        return experiment
    streams = Streams(seed, family, "promise")
    return {name: _run(part, streams) for name, part in experiment.estimators.items()}


def compute_data(family: str, written: dict, name: str, seed: int = 0) -> xr.Dataset | Refused:
    """The dataset of one kind of data of an experiment file, or the refusal of the file."""
    experiment = _loaded(family, written)
    return (
        experiment if isinstance(experiment, Refused) else _run(experiment.data[name], Streams(seed, family, "promise"))
    )


def _loaded(family: str, written: dict):
    path = project() / "config" / family / "experiments" / "promise.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(written, sort_keys=False), encoding="utf-8")
    try:
        return load_experiment(path)
    except SpecError as error:
        return Refused(tuple(error.problems))


@functools.cache
def project() -> Path:
    """The folder that holds `config/` of the drawn experiments."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _run(part, streams: Streams) -> xr.Dataset:
    spec = _spec(part, part.grid, list(range(part.replicas)))
    if part.reads is not None:
        spec |= {
            "reads": part.reads.described(),
            "data": lambda replica, **point: _data(part.reads, replica, point, streams),
        }
    return _module(part).run(spec, streams)


def _data(part, replica: int, point: dict, streams: Streams) -> xr.Dataset:
    values = {key: [point[key]] for key in part.grid}
    drawn = _module(part).run(_spec(part, values, [replica]), streams)
    return drawn.isel({**dict.fromkeys(values, 0), "replica": 0}, drop=True)


def _spec(part, grid: dict, replicas: list[int]) -> dict:
    named = {"family": part.family, "experiment": part.experiment, "estimator": part.name, "project": str(part.project)}
    return {**named, "model": part.model, "grid": grid, "replicas": replicas, "solver": part.solver}


def _module(part):
    return importlib.import_module(part.module)
