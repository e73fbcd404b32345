"""One experiment file: read, validate, overlay a scale, expand into estimators and chunks."""

import copy
from dataclasses import dataclass
from pathlib import Path

from attention_limits.errors import SpecError
from attention_limits.files import digest
from attention_limits.grid import Chunk, axis_values, cut
from attention_limits.schema import complete, load_schema, problems
from attention_limits.yaml_reader import read_yaml

SCALES = ("laptop", "paper", "smoke")


@dataclass(frozen=True)
class Estimator:
    """One way to compute the experiment: everything its jobs need, defaults filled in."""

    family: str
    experiment: str
    name: str
    model: dict
    grid: dict[str, list[float]]
    replicas: int
    solver: dict
    resources: dict
    chunks: tuple[Chunk, ...]

    @property
    def module(self) -> str:
        """The module whose `run(spec, streams)` computes this estimator."""
        return f"attention_limits.experiments.{self.family}.{self.name}"

    def axes(self) -> dict[str, list[float]]:
        """Grid keys, then `replica`, with all their values."""
        return {**self.grid, "replica": list(range(self.replicas))}

    def effective(self, chunk: Chunk) -> dict:
        """The plain dictionary handed to `run`: all that decides the numbers of a chunk, beside the seed."""
        return {
            "family": self.family,
            "experiment": self.experiment,
            "estimator": self.name,
            "model": copy.deepcopy(self.model),
            "grid": copy.deepcopy(chunk.grid),
            "replicas": list(chunk.replicas),
            "solver": copy.deepcopy(self.solver),
        }

    def point_digest(self, seed: int, code: str) -> str:
        """What decides the numbers at one grid value and replica: points that agree in it are the same points."""
        shared = [self.family, self.experiment, self.name, self.model, list(self.grid), self.solver, seed, code]
        return digest(shared)


@dataclass(frozen=True)
class Experiment:
    """One experiment file at one scale."""

    path: Path
    family: str
    name: str
    scale: str
    title: str
    description: str
    estimators: dict[str, Estimator]

    def effective(self) -> dict:
        """The whole specification as plain data, for the attributes of the merged cube."""
        return {
            "family": self.family,
            "experiment": self.name,
            "estimators": {
                name: {"model": part.model, "grid": part.grid, "replicas": part.replicas, "solver": part.solver}
                for name, part in self.estimators.items()
            },
        }


def load_experiment(path: Path, scale: str = "laptop") -> Experiment:
    """Read `config/experiments/<family>/<experiment>.yaml` at one scale.

    The schemas are looked for in `config/schemas`, beside the folder `experiments` that holds the file, so an
    experiment of one's own brings its schemas with it. Every scale of the file is validated, whichever is asked
    for. Raises SpecError with one line per problem.
    """
    path = Path(path)
    if scale not in SCALES:
        raise SpecError([f"{path}: scale: {scale!r}: allowed: {', '.join(SCALES)}"])
    document = read_yaml(path)
    schemas = path.absolute().parent.parent.parent / "schemas"
    frame = load_schema(schemas / "experiment.json")
    kinds = _load_kinds(schemas / path.parent.name)

    found = _document_problems(document, frame, kinds)
    chosen = document
    overlays = document.get("scales")
    for name, overlay in overlays.items() if isinstance(overlays, dict) else ():
        if not isinstance(overlay, dict) or name not in SCALES:
            continue
        unknown = _unknown_estimators(document, overlay, name)
        found += unknown
        if unknown:
            continue
        merged = _overlaid(document, overlay)
        for keys, message in _document_problems(merged, frame, kinds):
            if (keys, message) not in found:
                found.append((_at_home(keys, overlay, name), message))
        if name == scale:
            chosen = merged
    if found:
        raise SpecError([f"{path}: {'.'.join(keys) or 'file'}: {message}" for keys, message in dict.fromkeys(found)])
    return _expand(path, scale, chosen, frame, kinds)


def _load_kinds(folder: Path) -> dict[str, dict]:
    return {file.stem: load_schema(file) for file in sorted(folder.glob("*.json"))}


def _mapping(value) -> dict:
    return value if isinstance(value, dict) else {}


def _document_problems(document: dict, frame: dict, kinds: dict[str, dict]) -> list[tuple[tuple[str, ...], str]]:
    found = problems(document, frame)
    model, estimators = _mapping(document.get("model")), _mapping(document.get("estimators"))
    read = set()
    for name, part in estimators.items():
        if name not in kinds:
            found.append((("estimators", name), f"no such estimator; allowed: {', '.join(kinds) or 'none'}"))
            continue
        kind = kinds[name]["properties"]
        read |= set(kind["model"]["properties"])
        if isinstance(part, dict):
            found += _part_problems(name, part, model, kind)
    if estimators and set(estimators) <= set(kinds):
        allowed = ", ".join(sorted(read)) or "none"
        found += [(("model", key), f"unknown key; allowed: {allowed}") for key in model if key not in read]
    return list(dict.fromkeys(found))


def _part_problems(name: str, part: dict, model: dict, kind: dict) -> list[tuple[tuple[str, ...], str]]:
    home = ("estimators", name)
    grid, chunk = _mapping(part.get("grid")), _mapping(part.get("chunk"))
    found = problems(_mapping(part.get("solver")), kind["solver"], (*home, "solver"))

    values = {}
    for key, axis in grid.items():
        try:
            values[key] = axis_values(axis)
        except ValueError as error:
            found.append(((*home, "grid", key), str(error)))
        except (KeyError, TypeError):
            pass  # not the shape of an axis, which the frame has said
    grid_schema = kind["grid"]
    # The schema is about single values; an axis is asked only for its name.
    names = {key: {"description": item.get("description", key)} for key, item in grid_schema["properties"].items()}
    found += problems(grid, {**grid_schema, "properties": names}, (*home, "grid"))
    for key in values.keys() & grid_schema["properties"].keys():
        # One wrong value tells enough of a long axis.
        first = next((p for value in values[key] for p in problems(value, grid_schema["properties"][key])), None)
        if first:
            found.append(((*home, "grid", key), first[1]))

    both = sorted(grid.keys() & model.keys())
    found += [((*home, "grid", key), "is in model too; a key is either fixed or scanned") for key in both]
    mine = {key: value for key, value in model.items() if key in kind["model"]["properties"]}
    required = [key for key in kind["model"].get("required", []) if key not in grid]
    found += problems(mine, {**kind["model"], "required": required}, ("model",))

    cuttable = [*grid, "replicas"]
    found += [
        ((*home, "chunk", key), f"unknown key; allowed: {', '.join(cuttable)}") for key in chunk if key not in cuttable
    ]
    return found


def _unknown_estimators(document: dict, overlay: dict, scale: str) -> list[tuple[tuple[str, ...], str]]:
    known = _mapping(document.get("estimators"))
    return [
        (("scales", scale, "estimators", name), f"unknown key; allowed: {', '.join(known)}")
        for name in _mapping(overlay.get("estimators"))
        if name not in known
    ]


def _overlaid(base: dict, overlay: dict) -> dict:
    """`base` with the values of `overlay` in it, mapping by mapping; neither is changed."""
    merged = dict(base)
    for key, value in overlay.items():
        old = merged.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        # A list of values and a range exclude each other: the overlay's way of writing an axis wins.
        if both and ("values" in old) == ("values" in value):
            merged[key] = _overlaid(old, value)
        else:
            merged[key] = value
    return merged


def _at_home(keys: tuple[str, ...], overlay: dict, scale: str) -> tuple[str, ...]:
    """Where a problem of an overlaid document was written: below `scales` when the overlay touches its keys."""
    node = overlay
    for depth, key in enumerate(keys):
        if not isinstance(node, dict):
            break
        if key not in node:
            # An overlay that writes a neighbour of a missing key is the one that lost it.
            return ("scales", scale, *keys) if depth == len(keys) - 1 and depth > 0 else keys
        node = node[key]
    return ("scales", scale, *keys)


def _expand(path: Path, scale: str, document: dict, frame: dict, kinds: dict[str, dict]) -> Experiment:
    family, experiment = path.absolute().parent.name, path.stem
    document = complete(document, frame)
    part_frame = frame["$defs"]["estimator"]
    estimators = {}
    for name, written in document["estimators"].items():
        kind, part = kinds[name]["properties"], complete(written, part_frame)
        grid_schemas = kind["grid"]["properties"]
        grid = {key: complete(axis_values(axis), {"items": grid_schemas[key]}) for key, axis in part["grid"].items()}
        model_schema = {
            "properties": {key: item for key, item in kind["model"]["properties"].items() if key not in grid}
        }
        mine = {key: value for key, value in document["model"].items() if key in model_schema["properties"]}
        estimators[name] = Estimator(
            family=family,
            experiment=experiment,
            name=name,
            model=complete(mine, model_schema),
            grid=grid,
            replicas=part["replicas"],
            solver=complete(part["solver"], kind["solver"]),
            resources=part["resources"],
            chunks=tuple(cut(grid, part["replicas"], part["chunk"])),
        )
    return Experiment(
        path=path,
        family=family,
        name=experiment,
        scale=scale,
        title=document["title"],
        description=" ".join(document["description"].split()),
        estimators=estimators,
    )
