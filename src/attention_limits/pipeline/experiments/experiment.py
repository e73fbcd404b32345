"""An experiment file as an `Experiment`: read, take the model, overlay a scale, validate, expand."""

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from attention_limits.pipeline import beside
from attention_limits.pipeline.base.errors import SpecError, allowed_names, did_you_mean, shown
from attention_limits.pipeline.base.provenance import PACKAGE, has_module
from attention_limits.pipeline.experiments.estimator import Estimator, Experiment, estimator_module
from attention_limits.pipeline.experiments.grid import axis_values, single
from attention_limits.pipeline.experiments.messages import located, validated
from attention_limits.pipeline.experiments.specification import (
    DataSpecification,
    Name,
    Problem,
    Range,
    Section,
    Specification,
    Values,
    fields,
)
from attention_limits.pipeline.experiments.yaml_reader import read_yaml

SCALES = ("laptop", "paper", "smoke")
# The sections of a file that list what to compute, by name of the estimator or kind of data.
SECTIONS = ("data", "estimators")

# The forms of the axis of a grid key in a file.
AXIS = "{start, stop, num}, and spacing: log if wanted, or {values: [...]}"

_Text = Annotated[str, Field(min_length=1)]
# Letters of any script; nothing that a shell reads as a command.
_Path = Annotated[str, Field(pattern=r"^\w[\w ./-]*$")]
_Source = Annotated[_Text, Field(description="Content and source of the file, printed while it is missing.")]
_Listed = dict[Name, dict]


class Overlay(Section):
    """Values that replace those of the file at one scale."""

    model: dict = {}
    data: _Listed = {}
    estimators: _Listed = {}


class Scales(Section):
    """Overlays, merged key by key into the file; the file itself is the scale laptop."""

    paper: Overlay = Overlay()
    smoke: Overlay = Overlay()


class File(Section):
    """One experiment file: one cube, computed by one or several estimators on their grids."""

    title: _Text = Field(description="One line; the title of the cube.")
    description: _Text = Field(description="One paragraph; the summary of the cube.")
    model: dict | str = Field(
        {},
        description=(
            "Parameters of all estimators, or the name of a model of models.yaml, or {base: name} and other values."
        ),
    )
    requires: dict[_Path, _Source] = Field(
        {},
        description=(
            "Paths of files, relative to the project. While one is missing, the workflow leaves out the experiment."
        ),
    )
    extra: bool = Field(
        False, description="A run with `figures: papers` leaves out the cube, unless one of its figures draws it."
    )
    data: _Listed = Field({}, description="Data that estimators read, by name: grid, replicas, solver.")
    estimators: _Listed = Field(min_length=1, description="Estimators by name: grid, replicas, solver, chunk, reads.")
    scales: Scales = Scales()


@dataclass(frozen=True)
class Family:
    """A family by its `specs.py`: the prefix of its rules and figures, and its classes by name."""

    name: str
    prefix: str
    data: dict[str, type[DataSpecification]]
    estimators: dict[str, type[Specification]]

    def rule(self, name: str) -> str:
        """The name of the rule of an estimator or of data: prefix of the family, then name, as in smi_gamp."""
        return name if name.startswith(f"{self.prefix}_") else f"{self.prefix}_{name}"


def load_family(name: str) -> Family:
    """The family of a folder of the package. Raises ModuleNotFoundError when it has no `specs.py`."""
    module = f"{PACKAGE}.{name}.specs"
    # The import is not tried first: an import error inside an existing module is a bug and shows its traceback.
    if not has_module(module):
        raise ModuleNotFoundError(f"no module {module}", name=module)
    specs = importlib.import_module(module)
    return Family(name, specs.PREFIX, specs.DATA, specs.ESTIMATORS)


def load_experiment(path: Path, scale: str = "laptop", settings: Mapping | None = None) -> Experiment:
    """Read `config/<family>/experiments/<experiment>.yaml` at one scale.

    `settings` holds changes: family -> model of `models.yaml` -> key -> value, or family -> experiment -> overlay, which is the
    last one at each scale. Without changes of this family every scale of the file is validated. With changes only `scale` is:
    the data of a user need not fit the others. Raises SpecError with one line per problem.
    """
    changed = (settings or {}).get(path.absolute().parents[1].name)
    return at_scales(path, settings, scales=(scale,) if changed else SCALES)[scale]


def at_scales(
    path: Path, settings: Mapping | None = None, document: dict | None = None, scales: Iterable[str] = SCALES
) -> dict[str, Experiment]:
    """The experiment of the file `path` at each of the `scales`, as `load_experiment`; only these are validated.

    `document` is the content if there is no file.
    """
    document = read_yaml(path) if document is None else document
    name = path.absolute().parents[1].name
    try:
        family = load_family(name)
    except ModuleNotFoundError as error:
        raise SpecError([f"{path}: the folder {name} is not a family: {error}"]) from None
    _, found = validated(File, document)
    change: dict = {}
    model, asked = document.get("model", {}), (settings or {}).get(name, {})
    base = model.get("base") if isinstance(model, dict) else model
    if not found:
        models, change = _changed(path, asked)
        document, own, found = _with_model(document, models)
    experiments: dict[str, Experiment] = {}
    beside.forget()
    # Problems that depend on the other keys of the file, not on a value alone.
    between: list[Problem] = []
    for which in scales if not found else ():
        overlay = document.get("scales", {}).get(which, {})
        if not overlay and "laptop" in experiments:
            experiments[which] = experiments["laptop"]
            continue
        fixed = {*own, *overlay.get("model", {}), *change.get("model", {})}
        made, wrong = _expand(path, _overlaid(_overlaid(document, overlay), change), fixed, family)
        crossed = _between_keys(made) if made is not None else []
        if made is not None and not crossed:
            experiments[which] = made
        # A problem of the file itself appears at every scale; it is reported once. Others are reported below their scale.
        below = () if which == "laptop" else ("scales", which)
        found += [((*below, *keys), text) for keys, text in (*wrong, *crossed) if (keys, text) not in found]
        between += [((*below, *keys), text) for keys, text in crossed]
    if found:
        # A wrong value of a changed model is one problem, however many experiments use the model.
        changed = asked.get(base, {}) if isinstance(base, str) else {}
        source = f"{path} with `set`" if change else path
        lines = []
        for keys, text in found:
            if len(keys) > 1 and keys[-1] in changed and keys[-2] in ("model", "grid"):
                scale = keys[1] if keys[0] == "scales" else "laptop"
                where = f"{path}, scale {scale}: " if (keys, text) in between else ""
                lines.append(f"set: {base}.{keys[-1]}: {where}{text}")
            else:
                lines += located(source, [(keys, text)])
        raise SpecError(list(dict.fromkeys(lines)))
    return experiments


def without_effect(experiment: Experiment, scale: str, changes: Mapping) -> list[str]:
    """A line for each key in `changes` (model -> key -> value) of the model of an experiment that changes nothing in it."""
    model = read_yaml(experiment.path).get("model", {})
    name, own = (model, {}) if isinstance(model, str) else (model.get("base"), model)
    asked = changes.get(name, {}) if isinstance(name, str) else {}
    found = []
    for key in asked:
        others = {**changes, name: {other: value for other, value in asked.items() if other != key}}
        try:
            without = load_experiment(experiment.path, scale, {experiment.family: others})
        except SpecError:
            # The other changes are refused without this one, such as a new alignment with the old distances.
            continue
        if _values(without) != _values(experiment):
            continue
        scan = [part for part, estimator in experiment.all_estimators.items() if key in estimator.grid]
        reason = (
            f"{', '.join(scan)}: the grid scans it" if scan else "the file has its own" if key in own else "it is this"
        )
        found.append(f"set: {name}.{key}: changes nothing in {experiment.path}: {reason}")
    return found


def _values(experiment: Experiment) -> list[tuple[dict, dict]]:
    """Models and grids of all estimators."""
    return [(estimator.model, estimator.grid) for estimator in experiment.all_estimators.values()]


def _changed(path: Path, changes: Mapping) -> tuple[dict[str, dict], dict]:
    """The named models of the family of an experiment file with their `changes`, and the overlay of the file among these.

    Raises SpecError, also for a change of what is neither a model nor an experiment.
    """
    source = path.parents[1] / "models.yaml"
    models = read_yaml(source) if source.is_file() else {}
    found = [f"{source}: {name}: must be a mapping" for name, model in models.items() if not isinstance(model, dict)]
    there = [file.stem for file in sorted(path.parent.glob("*.yaml"))]
    found += [
        f"set: {name}: not in {source}, and no experiment; allowed: models: {', '.join(models) or 'none'}; or an experiment of "
        f"{path.parent}{did_you_mean(name, [*models, *there])}"
        for name in changes
        if name not in models and not (path.parent / f"{name}.yaml").is_file()
    ]
    if found:
        raise SpecError(found)
    change = {} if path.stem in models else changes.get(path.stem, {})
    _, wrong = validated(Overlay, change)
    if wrong:
        raise SpecError(
            located(f"set: {path.stem}", [(keys, f"{text}{_place(path, keys, text)}") for keys, text in wrong])
        )
    return {name: {**model, **changes.get(name, {})} for name, model in models.items()}, change


def _place(path: Path, keys: tuple[str, ...], text: str) -> str:
    """Where an unknown key of the overlay of an experiment file most likely belongs, as the end of the message `text`."""
    if len(keys) != 1 or not text.startswith("unknown key") or not path.is_file():
        return ""
    (key,), document = keys, read_yaml(path)
    estimators, model = document.get("estimators", {}), document.get("model", {})
    if key in estimators:
        return f"; write {{estimators: {{{key}: ...}}}}"
    if key in ("grid", "replicas", "solver", "chunk"):
        return f"; write {{estimators: {{{next(iter(estimators), 'NAME')}: {{{key}: ...}}}}}}"
    return f"; write {{model: {{{key}: ...}}}}" if key in model or isinstance(model, str) else ""


def _with_model(document: dict, models: dict[str, dict]) -> tuple[dict, list[str], list[Problem]]:
    """The document with the name of a model replaced by its keys, and the keys that the file itself gives."""
    model = document.get("model", {})
    model = {"base": model} if isinstance(model, str) else dict(model)
    base = model.pop("base", None)
    if base is None:
        return {**document, "model": model}, list(model), []
    if isinstance(base, str) and base in models:
        return {**document, "model": {**models[base], **model}}, list(model), []
    return document, [], [(("model",), f"{base!r}: not in models.yaml; {allowed_names(base, models)}")]


def _overlaid(base: dict, overlay: Mapping) -> dict:
    """`base` with the values of `overlay` in it, mapping by mapping.

    An axis that the overlay writes in the other form (list of values or range) is replaced as a whole. The further values `also`
    belong to the range of their file: an overlay with another number of values drops them.
    """
    merged = {key: value for key, value in base.items() if key != "also" or "num" not in overlay}
    for key, value in overlay.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict) and ("values" in old) == ("values" in value):
            merged[key] = _overlaid(old, value)
        else:
            merged[key] = value
    return merged


def _expand(path: Path, document: dict, fixed: set[str], family: Family) -> tuple[Experiment | None, list[Problem]]:
    """The experiment of one scale, or None and all its problems; `fixed` are the keys of the model that the file itself gives."""
    model, data = document["model"], document.get("data", {})
    found: list[Problem] = []
    expanded: dict[str, dict[str, Estimator]] = {section: {} for section in SECTIONS}
    read: set[str] = set()
    elsewhere: dict[str, str] = {}
    listed = [(section, *item) for section in SECTIONS for item in document.get(section, {}).items()]
    for section, name, written in listed:
        classes = getattr(family, section)
        module = estimator_module(family.name, name)
        if name not in classes or not has_module(module):
            text = f"no such estimator; {allowed_names(name, classes)}"
            found.append(((section, name), f"no module {module}" if name in classes else text))
            read |= set(model)
            continue
        read |= (own := fields(classes[name], "model"))
        for key in sorted(classes[name].refuses & model.keys() - own):
            text = f"{section}.{name} does not take it; allowed: another file for {name}"
            found.append((("model", key), text))
        for part in ("solver", "grid"):
            elsewhere |= {key: f"{part}.{key}" for key in sorted(fields(classes[name], part))}
        if "model" in written:
            found.append(
                ((section, name, "model"), "unknown key; write model once, at the top of the file, for all estimators")
            )
        valid, wrong = _validated(classes[name], written, model, fixed)
        if valid is not None and (reads := getattr(valid, "reads", None)) and reads not in data:
            wrong.append((("reads",), f"{reads!r}: not in the section data; {allowed_names(reads, data)}"))
        found += [(keys if keys[0] == "model" else (section, name, *keys), text) for keys, text in wrong]
        if found or valid is None:
            continue
        # The order of the file is that of the dimensions of the cube.
        grid = {key: getattr(valid.grid, key) for key in written.get("grid", {})}
        expanded[section][name] = Estimator(
            family=family.name,
            experiment=path.stem,
            name=name,
            specification=type(valid),
            model={key: value for key, value in valid.model.plain().items() if key not in grid},
            grid=grid,
            replicas=valid.replicas,
            solver=valid.solver,
            resources=valid.resources.plain(),
            blocks={**({} if isinstance(valid, Specification) else single(grid)), **valid.chunk},
            project=path.absolute().parents[3],
            reads=expanded["data"].get(getattr(valid, "reads", "")),
            requires=tuple(document.get("requires", {})),
        )
    unknown = [key for key in model if key not in read]
    found += [
        (("model", key), f"unknown key; {allowed_names(key, sorted(read), elsewhere=elsewhere)}") for key in unknown
    ]
    wanted = [written.get("reads") for written in document["estimators"].values()]
    found += [(("data", name), "no estimator reads it") for name in data if name not in wanted]
    if found:
        return None, list(dict.fromkeys(found))
    experiment = Experiment(
        path, family.name, path.stem, document["title"], " ".join(document["description"].split()),
        document.get("requires", {}), document.get("extra", False), expanded["data"], expanded["estimators"],
    )  # fmt: skip
    return experiment, []


def _between_keys(experiment: Experiment) -> list[Problem]:
    """Problems between several keys of an experiment whose values are valid, and with files that they name."""
    found: list[Problem] = []
    for section, estimators in zip(SECTIONS, (experiment.data, experiment.estimators), strict=True):
        for name, estimator in estimators.items():
            wrong = [*_points_without_data(estimator), *_twins(estimator)]
            wrong += estimator.specification.cross_checks(estimator)
            found += [(tuple(keys) if keys[:1] == ("model",) else (section, name, *keys), text) for keys, text in wrong]
    return list(dict.fromkeys(found))


def _validated(
    cls: type[DataSpecification], written: dict, model: dict, fixed: set[str]
) -> tuple[DataSpecification | None, list[Problem]]:
    """One entry of a file as an instance of its class, with expanded axes. A scanned key of the model has its first value."""
    grid, blocks = written.get("grid", {}), written.get("chunk", {})
    axes: dict[str, list[float]] = {}
    found: list[Problem] = []
    for key, axis in grid.items() if isinstance(grid, dict) else ():
        of_model = axis == "model" and key in model
        axes[key], wrong = _axis({"values": [model[key]]} if of_model else axis)
        found += [(("grid", key, *keys), text) for keys, text in wrong]
        # An axis takes the place of a key of a named model, never of a key that the file itself gives.
        if key in fixed and not of_model:
            found.append((("grid", key), "is also in model; a key is either fixed or scanned"))
    cuttable = [*axes, "replicas"] if issubclass(cls, Specification) else ["replicas"]
    unknown = [key for key in blocks if key not in cuttable] if isinstance(blocks, dict) else []
    found += [(("chunk", key), f"unknown key; {allowed_names(key, cuttable)}") for key in unknown]
    own = {**model, **{key: values[0] for key, values in axes.items() if values}}
    own = {key: value for key, value in own.items() if key in fields(cls, "model")}
    valid, wrong = validated(
        cls, {"solver": {}, **written, "grid": axes if isinstance(grid, dict) else grid, "model": own}
    )
    for keys, text in wrong:
        if keys[0] in ("grid", "model") and keys[1:2] and keys[1] in axes:
            # A long axis reports only one wrong value.
            keys = ("grid", keys[1])
        if not any(keys == other[: len(keys)] for other, _ in found):
            found.append((keys, text))
    return (None if found else valid), found


def _axis(axis) -> tuple[list[float], list[Problem]]:
    """The values of an axis, or an empty list and the problem."""
    form = Values if isinstance(axis, dict) and "values" in axis else Range
    _, wrong = validated(form, axis)
    if any(not keys for keys, _ in wrong):
        return [], [((), f"{shown(axis)}: allowed: {AXIS}")]
    try:
        return ([], wrong) if wrong else (axis_values(axis), [])
    except ValueError as error:
        return [], [((), str(error))]


def _twins(estimator: Estimator) -> list[Problem]:
    """Two files of the user that its files import by one name: Python holds one module of a name."""
    first: dict[str, Path] = {}
    found: list[Problem] = []
    for file, name in estimator.imported_files.items():
        other = first.setdefault(name, file)
        if not file.samefile(other):
            found.append((("model",), f"the module {name}, which its files import, is {other} or {file}; rename one"))
    return found


def _points_without_data(estimator: Estimator) -> list[Problem]:
    data = estimator.reads
    if data is None:
        return []
    found: list[Problem] = []
    for key, values in data.grid.items():
        there = f"data.{data.name}.grid.{key}"
        if key not in estimator.grid:
            found.append((("grid", key), f"missing; scanned by {there}"))
            continue
        absent = sorted(set(estimator.grid[key]) - set(values))
        if absent:
            known = ", ".join(f"{value:g}" for value in values)
            found.append((("grid", key), f"{absent[0]:g}: not in {there}; allowed: {known}"))
    if estimator.replicas > data.replicas:
        found.append(
            (("replicas",), f"{estimator.replicas}: allowed: ≤ {data.replicas}, the replicas of data.{data.name}")
        )
    return found
