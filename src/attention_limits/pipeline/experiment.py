"""One experiment file: read, overlay a scale, validate, expand into estimators, their data and their chunks."""

import copy
import functools
import importlib
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.files import digest
from attention_limits.pipeline.grid import Chunk, axis_values, cut, single
from attention_limits.pipeline.provenance import PACKAGE, has_module
from attention_limits.pipeline.specification import (
    DataSpecification,
    Problem,
    Range,
    Section,
    Specification,
    Values,
    fields,
    validated,
)
from attention_limits.pipeline.yaml_reader import read_yaml

SCALES = ("laptop", "paper", "smoke")
# The sections of a file that list what to compute, by name of the estimator or kind of data.
SECTIONS = ("data", "estimators")

_Name = Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
_File = Annotated[str, Field(pattern="^[A-Za-z0-9_][A-Za-z0-9_./-]*$")]
_Text = Annotated[str, Field(min_length=1)]
_Parts = dict[_Name, dict]


class Overlay(Section):
    """Values that replace those of the file at one scale."""

    model: Annotated[dict, Field(description="As model of the file.")] = {}  # noqa: RUF012
    data: Annotated[_Parts, Field(description="As data of the file; only those the file has.")] = {}  # noqa: RUF012
    estimators: Annotated[_Parts, Field(description="As estimators of the file; only those the file has.")] = {}  # noqa: RUF012


class Scales(Section):
    """Overlays, merged key by key into the file; the file itself is the scale laptop."""

    paper: Overlay = Overlay()
    smoke: Overlay = Overlay()


class File(Section):
    """One experiment file: one cube, computed by one or several estimators on their grids."""

    title: Annotated[_Text, Field(description="One line; the title of the cube.")]
    description: Annotated[_Text, Field(description="One paragraph; the summary of the cube.")]
    model: Annotated[
        dict | str,
        Field(
            description="Parameters that all estimators share; or a name of models.yaml; or {base: name} and the keys that differ."
        ),
    ] = {}  # noqa: RUF012
    requires: Annotated[
        dict[
            _File,
            Annotated[_Text, Field(description="What the file is and where to get it, shown while it is missing.")],
        ],
        Field(
            description="Files, relative to the project; the experiment is left out, with its figures, while one is missing."
        ),
    ] = {}  # noqa: RUF012
    data: Annotated[_Parts, Field(description="Data that estimators read: name to grid, replicas, solver.")] = {}  # noqa: RUF012
    estimators: Annotated[
        _Parts, Field(min_length=1, description="Estimator name to its grid, replicas, solver and chunk.")
    ]
    scales: Scales = Scales()


@dataclass(frozen=True)
class Estimator:
    """One way to compute the experiment, or one kind of data it reads: all that its jobs need, defaults filled in.

    `blocks` are the sizes of the chunks by grid key and `replicas`; a missing key means the whole axis.
    `project` is the folder that holds `config/`; it enters no digest. `reads` is the data that its jobs read, `requires`
    the files, relative to `project`, whose bytes belong to the code.
    """

    family: str
    experiment: str
    name: str
    specification: type[Specification]
    model: dict
    grid: dict[str, list[float]]
    replicas: int
    solver: dict
    resources: dict
    blocks: dict[str, int]
    project: Path
    reads: "Estimator | None" = None
    requires: tuple[str, ...] = ()

    @property
    def is_data(self) -> bool:
        """Whether this is data that estimators read."""
        return not issubclass(self.specification, Specification)

    @property
    def module(self) -> str:
        """The module whose `run(spec, streams)` computes this estimator."""
        return f"{PACKAGE}.{self.family}.estimators.{self.name}"

    @functools.cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """All jobs, cut when they are first asked for: there may be many, and a job needs only itself."""
        return tuple(cut(self.grid, self.replicas, self.blocks))

    def chunk(self, name: str) -> Chunk:
        """The chunk of a name. Raises KeyError when there is none."""
        for chunk in self._chunks_by_ranges.get(name.rpartition("_")[0], ()):
            if chunk.name == name:
                return chunk
        raise KeyError(name)

    @functools.cached_property
    def _chunks_by_ranges(self) -> dict[str, list[Chunk]]:
        # By the readable part of the name: the other part costs a hash, which a job that asks for one chunk need not pay.
        found: dict[str, list[Chunk]] = {}
        for chunk in self.chunks:
            found.setdefault(chunk.ranges, []).append(chunk)
        return found

    def described(self) -> dict:
        """Model, grid, replicas and solver as plain data, with the name of the data that is read."""
        plain = {"model": self.model, "grid": self.grid, "replicas": self.replicas, "solver": self.solver}
        return plain if self.reads is None else {**plain, "reads": self.reads.name}

    def effective(self, chunk: Chunk) -> dict:
        """The plain dictionary handed to `run`: all that decides the numbers of a chunk, beside seed and code."""
        plain = {
            "family": self.family,
            "experiment": self.experiment,
            "estimator": self.name,
            "model": copy.deepcopy(self.model),
            "grid": copy.deepcopy(chunk.grid),
            "replicas": list(chunk.replicas),
            "solver": copy.deepcopy(self.solver),
        }
        return plain if self.reads is None else {**plain, "reads": copy.deepcopy(self.reads._identity())}

    def point_digest(self, seed: int, code: str) -> str:
        """What decides the numbers at one grid value and replica: points that agree in it are the same points."""
        shared = [self.family, self.experiment, self.name, self.model, list(self.grid), self.solver, seed, code]
        return digest(shared if self.reads is None else [*shared, self.reads._identity()])

    def data_chunks(self, chunk: Chunk) -> list[Chunk]:
        """The chunks of the data that a chunk reads: one per point, grid keys that the data do not scan left out."""
        keys = list(self.reads.grid)
        points = itertools.product(*(chunk.grid[key] for key in keys), chunk.replicas)
        return [Chunk({key: [x] for key, x in zip(keys, point, strict=True)}, [replica]) for *point, replica in points]

    def _identity(self) -> dict:
        return {"name": self.name, "model": self.model, "grid": list(self.grid), "solver": self.solver}


@dataclass(frozen=True)
class Experiment:
    """One experiment file at one scale."""

    path: Path
    family: str
    name: str
    scale: str
    title: str
    description: str
    requires: dict[str, str]
    data: dict[str, Estimator]
    estimators: dict[str, Estimator]

    @property
    def project(self) -> Path:
        """The folder that holds `config/`."""
        return project_of(self.path)

    @property
    def parts(self) -> dict[str, Estimator]:
        """Data and estimators by name."""
        return {**self.data, **self.estimators}

    def missing(self) -> list[str]:
        """One line for each required file that is not there: its path, what it is and where to get it."""
        there = {self.project / name: what for name, what in self.requires.items()}
        return [f"{path} is missing: save there {what}" for path, what in there.items() if not path.is_file()]

    def effective(self) -> dict:
        """The whole specification as plain data, for the attributes of the merged cube."""
        sections = {"data": self.data, "estimators": self.estimators}
        described = {
            section: {name: part.described() for name, part in parts.items()}
            for section, parts in sections.items()
            if parts
        }
        return {"family": self.family, "experiment": self.name, **described}


def project_of(path: Path) -> Path:
    """The folder that holds `config/<family>/experiments/<experiment>.yaml`."""
    return path.absolute().parents[3]


@dataclass(frozen=True)
class Family:
    """What `specs.py` of a family says: the prefix of its rules and figures, and its classes by name."""

    name: str
    prefix: str
    data: dict[str, type[DataSpecification]]
    estimators: dict[str, type[Specification]]


def load_family(name: str) -> Family:
    """The family of a folder of the package. Raises ModuleNotFoundError when it has no `specs.py`."""
    module = f"{PACKAGE}.{name}.specs"
    # Looked for, not tried: an import error inside an existing module is a bug and shows its traceback.
    if not has_module(module):
        raise ModuleNotFoundError(f"no module {module}", name=module)
    specs = importlib.import_module(module)
    return Family(name, specs.PREFIX, specs.DATA, specs.ESTIMATORS)


def load_experiment(path: Path, scale: str = "laptop", settings: Mapping | None = None) -> Experiment:
    """Read `config/<family>/experiments/<experiment>.yaml` at one scale.

    `settings` holds changes of models: family -> model of `models.yaml` -> key -> value. Every scale of the file is validated,
    whichever is asked for. Raises SpecError with one line per problem.
    """
    path = Path(path)
    if scale not in SCALES:
        raise SpecError([f"{path}: scale: {scale!r}: allowed: {', '.join(SCALES)}"])
    name = path.absolute().parents[1].name
    try:
        family = load_family(name)
    except ModuleNotFoundError as error:
        raise SpecError([f"{path}: the folder {name} is no family: {error}"]) from None
    document, found = read_yaml(path), []
    file, wrong = validated(File, document)
    found += wrong
    if not found:
        models = load_models(path.parents[1] / "models.yaml", (settings or {}).get(family.name, {}))
        base, wrong = _with_models(document, models)
        # An axis takes the place of a key of a named model, never of a key that the file itself gives.
        own = document["model"] if isinstance(document.get("model"), dict) else {}
        found += wrong
    experiments = {}
    for name in SCALES if not found else ():
        chosen, wrong = _scaled(base, name)
        experiments[name], more = (None, []) if wrong else _expand(path, name, file, chosen, family, own)
        # A problem of the file itself stands in every scale.
        known = {problem for problem in found}
        found += [*wrong, *((_written(keys, document, name), text) for keys, text in more if (keys, text) not in known)]
    if found:
        raise SpecError([f"{path}: {'.'.join(keys) or 'file'}: {message}" for keys, message in dict.fromkeys(found)])
    return experiments[scale]


def load_models(path: Path, changes: Mapping) -> dict[str, dict]:
    """The named models of a family, with changes. Raises SpecError, also for a change of a model that does not exist."""
    models = read_yaml(path) if path.is_file() else {}
    found = [f"{path}: {name}: must be a mapping" for name, model in models.items() if not isinstance(model, dict)]
    found += [
        f"set: {name}: no model of {path}; allowed: {', '.join(models) or 'none'}"
        for name in changes
        if name not in models
    ]
    if found:
        raise SpecError(found)
    return {name: {**model, **changes.get(name, {})} for name, model in models.items()}


def _with_models(document: dict, models: dict[str, dict]) -> tuple[dict, list[Problem]]:
    """The document with the name of a model replaced by its keys."""
    model = document.get("model", {})
    named = {"base": model} if isinstance(model, str) else dict(model)
    if "base" not in named:
        return document, []
    name = named.pop("base")
    if name not in models:
        keys = ("model",) if isinstance(model, str) else ("model", "base")
        return document, [(keys, f"{name!r}: not in models.yaml; allowed: {', '.join(models) or 'none'}")]
    return {**document, "model": {**models[name], **named}}, []


def overlaid(base: dict, overlay: Mapping, replaces: Callable[[dict, Mapping], bool] = lambda old, new: False) -> dict:
    """`base` with the values of `overlay` in it, mapping by mapping; neither is changed.

    Where `replaces(old, new)` is true of two mappings, the new one takes the place of the old one as a whole.
    """
    merged = dict(base)
    for key, value in overlay.items():
        old = merged.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        merged[key] = overlaid(old, value, replaces) if both and not replaces(old, value) else value
    return merged


def _other_axis(old: dict, new: Mapping) -> bool:
    """A list of values and a range exclude each other: the overlay's way of writing an axis wins."""
    return ("values" in old) != ("values" in new)


def _scaled(document: dict, scale: str) -> tuple[dict, list[Problem]]:
    """The document of one scale, and the parts that only its overlay has."""
    overlay = document.get("scales", {}).get(scale, {})
    unknown = [
        (("scales", scale, section, name), f"unknown key; allowed: {', '.join(document.get(section, {})) or 'none'}")
        for section in SECTIONS
        for name in overlay.get(section, {})
        if name not in document.get(section, {})
    ]
    return overlaid(document, overlay, _other_axis), unknown


def _written(keys: tuple[str, ...], document: dict, scale: str) -> tuple[str, ...]:
    """Where a problem of a scale was written: below `scales` when the overlay touches its keys."""
    node = document.get("scales", {}).get(scale)
    for depth, key in enumerate(keys):
        if not isinstance(node, dict):
            break
        if key not in node:
            # An overlay that writes a neighbour of a missing key is the one that lost it.
            return ("scales", scale, *keys) if depth == len(keys) - 1 and depth > 0 else keys
        node = node[key]
    return ("scales", scale, *keys) if node is not None else keys


def _expand(
    path: Path, scale: str, file: File, document: dict, family: Family, own: Mapping
) -> tuple[Experiment | None, list[Problem]]:
    """The experiment of one scale, or None and all that is wrong with it."""
    found = []
    parts: dict[str, dict[str, Estimator]] = {"data": {}, "estimators": {}}
    model, read = document.get("model", {}), set()
    for section in SECTIONS:
        for name, part in document.get(section, {}).items():
            classes = getattr(family, section)
            if name not in classes:
                found.append(((section, name), f"no such estimator; allowed: {', '.join(classes) or 'none'}"))
                read |= set(model)
                continue
            cls = classes[name]
            read |= fields(cls, "model")
            checked, wrong = _validated_part(cls, part, model, own)
            found += [(keys if keys[0] == "model" else (section, name, *keys), text) for keys, text in wrong]
            if checked is None:
                continue
            grid = {key: getattr(checked.grid, key) for key in part.get("grid", {})}
            reads = getattr(checked, "reads", None)
            if reads is not None and reads not in parts["data"]:
                if reads not in document.get("data", {}):
                    known = ", ".join(document.get("data", {})) or "none"
                    found.append(((section, name, "reads"), f"{reads!r}: not in the section data; allowed: {known}"))
                continue
            parts[section][name] = Estimator(
                family=family.name,
                experiment=path.stem,
                name=name,
                specification=cls,
                model={key: value for key, value in checked.model.plain().items() if key not in grid},
                grid=grid,
                replicas=checked.replicas,
                solver=checked.solver.plain(),
                resources=checked.resources.plain(),
                blocks=single(grid) if section == "data" else dict(checked.chunk),
                project=project_of(path),
                reads=parts["data"][reads] if reads else None,
                requires=tuple(file.requires),
            )
    found += [
        (("model", key), f"unknown key; allowed: {', '.join(sorted(read)) or 'none'}")
        for key in model
        if key not in read
    ]
    wanted = [part.get("reads") for part in document.get("estimators", {}).values()]
    found += [(("data", name), "no estimator reads it") for name in document.get("data", {}) if name not in wanted]
    if not found:
        for section, members in parts.items():
            for name, part in members.items():
                wrong = [*_points_without_data(part), *part.specification.cross_checks(part)]
                found += [
                    (tuple(keys) if keys[:1] == ("model",) else (section, name, *keys), text) for keys, text in wrong
                ]
    if found:
        return None, list(dict.fromkeys(found))
    described = " ".join(file.description.split())
    return Experiment(path, family.name, path.stem, scale, file.title, described, file.requires, **parts), []


def _validated_part(
    cls: type[Specification], part: dict, model: dict, own: Mapping
) -> tuple[Specification | None, list[Problem]]:
    """One estimator of a file as an instance of its class, its axes expanded; keys of the model that it scans come from the grid."""
    axes, found = {}, []
    grid = part.get("grid", {})
    for key, axis in grid.items() if isinstance(grid, dict) else ():
        is_list = isinstance(axis, dict) and "values" in axis
        _, wrong = validated(Values if is_list else Range, axis)
        found += [(("grid", key, *keys), text if keys else _not_an_axis(axis)) for keys, text in wrong]
        try:
            axes[key] = axis_values(axis) if not wrong else []
        except ValueError as error:
            found.append((("grid", key), str(error)))
        if key in own:
            found.append((("grid", key), "is in model too; a key is either fixed or scanned"))
    blocks = part.get("chunk", {})
    if isinstance(blocks, dict):
        allowed = [*axes, "replicas"]
        found += [
            (("chunk", key), f"unknown key; allowed: {', '.join(allowed)}") for key in blocks if key not in allowed
        ]
    mine = {key: value for key, value in model.items() if key in fields(cls, "model")}
    scanned = {key: values[0] for key, values in axes.items() if key in fields(cls, "model") and values}
    whole = {"solver": {}, **part, "grid": axes if isinstance(grid, dict) else grid, "model": {**mine, **scanned}}
    checked, wrong = validated(cls, whole)
    for keys, text in wrong:
        if (keys[0] == "grid" and len(keys) > 2) or (keys[0] == "model" and keys[1:2] and keys[1] in axes):
            # One wrong value is enough of a long axis.
            keys = ("grid", keys[1])
        if not any(keys == other[: len(keys)] for other, _ in found):
            found.append((keys, text))
    return (None if found else checked), found


def _not_an_axis(axis) -> str:
    return f"{axis!r}: allowed: {{start, stop, num}}, with spacing: log for even spacing of logarithms, or {{values: [...]}}"


def _points_without_data(part: Estimator) -> list[Problem]:
    data, found = part.reads, []
    if data is None:
        return found
    for key, values in data.grid.items():
        there = f"data.{data.name}.grid.{key}"
        if key not in part.grid:
            found.append((("grid", key), f"missing; scanned by {there}"))
            continue
        absent = sorted(set(part.grid[key]) - set(values))
        if absent:
            known = ", ".join(f"{value:g}" for value in values)
            found.append((("grid", key), f"{absent[0]:g}: not in {there}; allowed: {known}"))
    if part.replicas > data.replicas:
        found.append((("replicas",), f"{part.replicas}: allowed: ≤ {data.replicas}, the replicas of data.{data.name}"))
    return found
