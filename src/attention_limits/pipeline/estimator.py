"""One experiment at one scale: its estimators, the data that they read, and the chunks that their jobs compute."""

import copy
import functools
import itertools
from dataclasses import dataclass
from pathlib import Path

from attention_limits.pipeline.files import digest
from attention_limits.pipeline.grid import Chunk, cut
from attention_limits.pipeline.provenance import PACKAGE
from attention_limits.pipeline.specification import Specification


@dataclass(frozen=True)
class Estimator:
    """One way to compute the experiment, or one kind of data that it reads: everything that its jobs need, with all defaults.

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
        """True for data that estimators read."""
        return not issubclass(self.specification, Specification)

    @property
    def module(self) -> str:
        """The module whose `run(spec, streams)` computes this estimator."""
        return estimator_module(self.family, self.name)

    @functools.cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """All jobs. They are cut at the first access, because there may be many and a job needs only its chunk."""
        return tuple(cut(self.grid, self.replicas, self.blocks))

    def chunk(self, name: str) -> Chunk:
        """The chunk with a name. Raises KeyError when there is none."""
        return self._chunks_by_name[name]

    @functools.cached_property
    def _chunks_by_name(self) -> dict[str, Chunk]:
        return {chunk.name: chunk for chunk in self.chunks}

    def described(self) -> dict:
        """Model, grid, replicas and solver as plain data, with the name of the data that is read."""
        plain = {"model": self.model, "grid": self.grid, "replicas": self.replicas, "solver": self.solver}
        return plain if self.reads is None else {**plain, "reads": self.reads.name}

    def effective(self, chunk: Chunk) -> dict:
        """The plain dictionary for `run`: everything that decides the numbers of a chunk, except seed and code."""
        plain = {
            "family": self.family,
            "experiment": self.experiment,
            "estimator": self.name,
            "model": self.model,
            "grid": chunk.grid,
            "replicas": chunk.replicas,
            "solver": self.solver,
            **({} if self.reads is None else {"reads": self.reads._identity()}),
        }
        return copy.deepcopy(plain)

    def point_digest(self, seed: int, code: str) -> str:
        """Digest of everything that decides the numbers at one grid value and replica: equal digests, equal points."""
        shared = [self.family, self.experiment, self._identity(), seed, code]
        return digest(shared if self.reads is None else [*shared, self.reads._identity()])

    def data_chunks(self, chunk: Chunk) -> list[Chunk]:
        """The chunks of the data that a chunk reads: one per point, without the grid keys that the data do not scan."""
        keys = list(self.reads.grid)
        points = itertools.product(*(chunk.grid[key] for key in keys), chunk.replicas)
        return [Chunk({key: [x] for key, x in zip(keys, point, strict=True)}, [replica]) for *point, replica in points]

    def _identity(self) -> dict:
        return {"name": self.name, "model": self.model, "grid": list(self.grid), "solver": self.solver}


def estimator_module(family: str, name: str) -> str:
    """The module of an estimator or of data."""
    return f"{PACKAGE}.{family}.estimators.{name}"


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
        return self.path.absolute().parents[3]

    @property
    def parts(self) -> dict[str, Estimator]:
        """Data and estimators by name."""
        return {**self.data, **self.estimators}

    def missing(self) -> list[str]:
        """One line for each missing required file: its path, its content and its source."""
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
