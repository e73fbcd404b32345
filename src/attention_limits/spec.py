"""One experiment file: read, validate, overlay a scale, expand into estimators, their data and their chunks."""

import copy
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from attention_limits.checking import family_problems
from attention_limits.document import SCALES, Problem, at_home, load_kinds, scaled_documents
from attention_limits.errors import SpecError
from attention_limits.files import digest
from attention_limits.grid import Chunk, axis_values, cut, single
from attention_limits.schema import complete, load_schema
from attention_limits.yaml_reader import read_yaml


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
    def module(self) -> str:
        """The module whose `run(spec, streams)` computes this estimator."""
        return f"attention_limits.experiments.{self.family}.{self.name}"

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

    def axes(self) -> dict[str, list[float]]:
        """Grid keys, then `replica`, with all their values."""
        return {**self.grid, "replica": list(range(self.replicas))}

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

    def data_chunks(self, points: Iterable[tuple[float, ...]]) -> list[Chunk]:
        """The chunks of the data that these points, (grid values, replica), read, each once."""
        chunks = (self.data_chunk(point[-1], dict(zip(self.grid, point[:-1], strict=True))) for point in points)
        return list({chunk.name: chunk for chunk in chunks}.values())

    def data_chunk(self, replica: int, point: dict[str, float]) -> Chunk:
        """The chunk of the data that one point reads; grid keys that the data do not scan are ignored."""
        return Chunk({key: [point[key]] for key in self.reads.grid}, [replica])

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
        return _project(self.path)

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


def load_experiment(path: Path, scale: str = "laptop") -> Experiment:
    """Read `config/experiments/<family>/<experiment>.yaml` at one scale.

    The schemas are looked for in `config/schemas`, beside the folder `experiments` that holds the file, so an
    experiment of one's own brings its schemas with it. Every scale of the file is validated, whichever is asked
    for: by the schemas, then by the checks of the family. Raises SpecError with one line per problem.
    """
    path = Path(path)
    if scale not in SCALES:
        raise SpecError([f"{path}: scale: {scale!r}: allowed: {', '.join(SCALES)}"])
    document = read_yaml(path)
    schemas = path.absolute().parent.parent.parent / "schemas"
    frame = load_schema(schemas / "experiment.json")
    kinds = load_kinds(schemas / path.parent.name)

    scaled, found = scaled_documents(document, frame, kinds)
    experiments = {}
    if not found:
        for name, chosen in scaled.items():
            experiments[name] = _expand(path, name, chosen, frame, kinds)
            new = [item for item in _expanded_problems(experiments[name]) if item not in found]
            found += [(at_home(keys, document, name) if name != "laptop" else keys, text) for keys, text in new]
    if found:
        raise SpecError([f"{path}: {'.'.join(keys) or 'file'}: {message}" for keys, message in dict.fromkeys(found)])
    return experiments[scale]


def _project(path: Path) -> Path:
    return path.absolute().parents[3]


def _expanded_problems(experiment: Experiment) -> list[Problem]:
    """What only the expanded parts tell: points without data, and what the checks of the family find."""
    found = []
    for section, parts in (("data", experiment.data), ("estimators", experiment.estimators)):
        for name, part in parts.items():
            found += [((section, name, *keys), message) for keys, message in _points_without_data(part)]
            # The section `model` is shared; the other keys are the part's own.
            found += [
                (keys if keys[:1] == ("model",) else (section, name, *keys), message)
                for keys, message in family_problems(part)
            ]
    return found


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
            found.append(
                (("grid", key), f"{absent[0]:g}: not in {there}; allowed: {', '.join(f'{v:g}' for v in values)}")
            )
    if part.replicas > data.replicas:
        found.append((("replicas",), f"{part.replicas}: allowed: ≤ {data.replicas}, the replicas of data.{data.name}"))
    return found


def _expand(path: Path, scale: str, document: dict, frame: dict, kinds: dict[str, dict]) -> Experiment:
    document = complete(document, frame)
    part_frame = frame["$defs"]["estimator"]

    def expanded(name: str, written: dict, data: dict[str, Estimator] | None) -> Estimator:
        kind, part = kinds[name]["properties"], complete(written, part_frame)
        grid_schemas = kind["grid"]["properties"]
        grid = {key: complete(axis_values(axis), {"items": grid_schemas[key]}) for key, axis in part["grid"].items()}
        model_schema = {
            "properties": {key: item for key, item in kind["model"]["properties"].items() if key not in grid}
        }
        mine = {key: value for key, value in document["model"].items() if key in model_schema["properties"]}
        return Estimator(
            family=path.absolute().parent.name,
            experiment=path.stem,
            name=name,
            model=complete(mine, model_schema),
            grid=grid,
            replicas=part["replicas"],
            solver=complete(part["solver"], kind["solver"]),
            resources=part["resources"],
            blocks=single(grid) if data is None else part["chunk"],
            project=_project(path),
            reads=data[part["reads"]] if "reads" in part else None,
            requires=tuple(document["requires"]),
        )

    data = {name: expanded(name, written, None) for name, written in document["data"].items()}
    return Experiment(
        path=path,
        family=path.absolute().parent.name,
        name=path.stem,
        scale=scale,
        title=document["title"],
        description=" ".join(document["description"].split()),
        requires=document["requires"],
        data=data,
        estimators={name: expanded(name, written, data) for name, written in document["estimators"].items()},
    )
