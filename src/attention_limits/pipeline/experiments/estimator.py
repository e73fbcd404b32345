"""One experiment at one scale: its estimators, the data that they read, their chunks, their files and their digests.

A digest covers everything that a file of the results depends on. Snakemake and the readers of a file compare digests. This module
imports nothing that compiles, because the workflow computes all digests at each start.
"""

import copy
import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

from attention_limits.pipeline.base.files import digest
from attention_limits.pipeline.base.provenance import PACKAGE, code_digest, imported_files, imported_modules, module_in
from attention_limits.pipeline.base.registry import registry_module
from attention_limits.pipeline.base.user_files import user_file
from attention_limits.pipeline.experiments.grid import Chunk, cut
from attention_limits.pipeline.experiments.specification import DataSpecification, Section, Specification


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
    specification: type[DataSpecification]
    model: dict
    grid: dict[str, list[float]]
    replicas: int
    solver: Section
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

    @functools.cached_property
    def chunk(self) -> dict[str, Chunk]:
        """The chunks by name."""
        return {chunk.name: chunk for chunk in self.chunks}

    @functools.cached_property
    def chunk_of(self) -> dict[tuple, Chunk]:
        """The chunk of each point (*grid values, replica)."""
        return {point: chunk for chunk in self.chunks for point in chunk.points}

    def path(self, results: str, chunk: Chunk) -> str:
        """The file of a chunk below the folder `results` of the scale."""
        section = "data" if self.is_data else "chunks"
        return f"{results}/{section}/{self.family}/{self.experiment}/{self.name}/{chunk.name}.nc"

    def described(self) -> dict:
        """Model, grid, replicas and solver as plain data, with the name of the data that is read."""
        plain = {"model": self.model, "grid": self.grid, "replicas": self.replicas, "solver": self.solver.plain()}
        return plain if self.reads is None else {**plain, "reads": self.reads.name}

    def effective(self, chunk: Chunk) -> dict:
        """Everything that decides the numbers of a chunk, except seed and code, as plain data."""
        plain = {
            "family": self.family,
            "experiment": self.experiment,
            "estimator": self.name,
            "model": self.model,
            "grid": chunk.grid,
            "replicas": chunk.replicas,
            "solver": self.solver.plain(),
            **({} if self.reads is None else {"reads": self.reads._identity()}),
        }
        return copy.deepcopy(plain)

    def asked(self, chunk: Chunk) -> dict:
        """The specification for `run`: that of the chunk, with the solver as its section and the folder of the project."""
        return {**self.effective(chunk), "solver": self.solver, "project": str(self.project)}

    @functools.cached_property
    def code(self) -> str:
        """Digest of all code that decides the numbers: the module, the random streams, the data that it reads.

        It includes the bytes of required files, of files of the user that they import, and the modules of this package that these
        files import. Raises ModuleNotFoundError when the estimator has no module, and OSError when a required file is missing.
        """
        own = code_digest(*self.code_roots, extra_files=self._code_files)
        # Their place on the disk may differ between machines, so only names and contents count.
        more = sorted(
            [name, hashlib.sha256(file.read_bytes()).hexdigest()] for file, name in self.imported_files.items()
        )
        own = digest([own, more]) if more else own
        return own if self.reads is None else digest([own, self.reads.code])

    @property
    def code_roots(self) -> list[str]:
        """The modules that decide the numbers with all that they import; those of the data that it reads are not among them."""
        by_name = {*self.specification.code_modules(self)}
        by_name |= {name for file in (*self._code_files, *self.imported_files) for name in imported_modules(file)}
        return [self.module, f"{PACKAGE}.pipeline.base.streams", *sorted(by_name)]

    @property
    def _code_files(self) -> list[Path]:
        return [*self.specification.code_files(self), *(user_file(self.project, name) for name in self.requires)]

    @functools.cached_property
    def imported_files(self) -> dict[Path, str]:
        """The files of the user that the files of the code import, with the names of their modules."""
        there = filter(Path.is_file, self._code_files)
        return {file: name for own in there for file, name in imported_files(own).items()}

    def attributes(self, chunk: Chunk, seed: int) -> dict[str, str]:
        """The attributes that the file of a chunk has if it is current.

        Points with equal `point_digest` have equal numbers at equal grid values and replicas, in any chunk.
        """
        points = [self.family, self.experiment, self._identity(), seed, self.code]
        if self.reads is not None:
            points.append(self.reads._identity())
        return {"spec_digest": digest(self.effective(chunk)), "point_digest": digest(points)}

    def data_chunks(self, chunk: Chunk) -> list[Chunk]:
        """The chunks of the data that a chunk reads, without the grid keys that the data do not scan."""
        data = self.reads
        if data is None:
            return []
        needed = Chunk({key: chunk.grid[key] for key in data.grid}, chunk.replicas)
        found = (data.chunk_of[point] for point in needed.points)
        return list({item.name: item for item in found}.values())

    def _identity(self) -> dict:
        return {"name": self.name, "model": self.model, "grid": list(self.grid), "solver": self.solver.plain()}


def estimator_module(family: str, name: str) -> str:
    """The module of an estimator or of data."""
    return module_in(f"{PACKAGE}.{family}.estimators", name)


@dataclass(frozen=True)
class Experiment:
    """One experiment file at one scale."""

    path: Path
    family: str
    name: str
    title: str
    description: str
    requires: dict[str, str]
    extra: bool
    data: dict[str, Estimator]
    estimators: dict[str, Estimator]

    @property
    def project(self) -> Path:
        """The folder that holds `config/`."""
        return self.path.absolute().parents[3]

    @property
    def all_estimators(self) -> dict[str, Estimator]:
        """Data and estimators by name."""
        return {**self.data, **self.estimators}

    def missing(self) -> list[str]:
        """One line for each missing required file: its path, its content and its source."""
        there = {user_file(self.project, name): what for name, what in self.requires.items()}
        return [f"{path} is missing: save there {what}" for path, what in there.items() if not path.is_file()]

    def cube_path(self, results: str) -> str:
        """The file of the cube below the folder `results` of the scale."""
        return f"{results}/cubes/{self.family}/{self.name}.nc"

    def chunk_paths(self, results: str) -> list[str]:
        """The files of all chunks that the cube joins."""
        return [estimator.path(results, chunk) for estimator in self.estimators.values() for chunk in estimator.chunks]

    def digest(self, seed: int) -> str:
        """Digest of the cube: the specification, the texts, the seed, the code of its chunks and that of the layout."""
        codes = [estimator.code for estimator in self.estimators.values()]
        layout = code_digest(f"{PACKAGE}.pipeline.cubes.cube_bytes", registry_module(self.family))
        return digest([self.effective(), self.title, self.description, seed, codes, layout])

    def effective(self) -> dict:
        """The whole specification as plain data, for the attributes of the merged cube."""
        sections = {"data": self.data, "estimators": self.estimators}
        described = {
            section: {name: estimator.described() for name, estimator in listed.items()}
            for section, listed in sections.items()
            if listed
        }
        return {"family": self.family, "experiment": self.name, **described}
