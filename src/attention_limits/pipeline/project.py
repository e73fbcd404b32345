"""The whole project at one scale and seed: its experiments and figures, and where their files are."""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from attention_limits.pipeline.digests import chunk_code, cube_digest
from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.estimator import Estimator, Experiment
from attention_limits.pipeline.experiment import load_experiment, load_family
from attention_limits.pipeline.figures import Figure, load_figures
from attention_limits.pipeline.files import digest
from attention_limits.pipeline.provenance import code_digest
from attention_limits.pipeline.specification import NAME, Name, Section, Whole, validated
from attention_limits.pipeline.yaml_reader import read_yaml, typed

RESULTS = "results"
# The folder of the files of each section of an experiment, below that of a scale's results.
FOLDERS = {"data": "data", "estimators": "chunks"}
# A path that is written into targets and wildcards of Snakemake.
_Path = Annotated[
    str,
    Field(
        pattern=r"^[^-{}*?\[\]\n][^{}*?\[\]\n]*$",
        description="Folder, absolute or relative to the working directory; no {}*?[] in it, no / at its end.",
    ),
]


class Run(Section):
    """The options of one run of the workflow. They contain no parameter of an experiment."""

    scale: Literal["laptop", "paper", "smoke"] = Field(
        "laptop",
        description=(
            "Replicas and sizes. paper extends the results of laptop; smoke is a quick test, in the folder smoke."
        ),
    )
    seed: Whole = Field(0, ge=0, description="Root seed of all random streams.")
    results: _Path = Field(RESULTS, description="Folder of all results, relative to the working directory or absolute.")
    project: _Path = Field(".", description="Folder that holds config/. Default: the folder of the Snakefile.")
    families: Literal["all"] | Annotated[list[Name], Field(min_length=1)] = Field(
        "all", description="Families to compute: all, or a list of folders of config/."
    )
    set: Annotated[
        dict[Name, dict[Name, dict]],
        BeforeValidator(typed),
        Field(description="Changes of models: family, then name of the model, then key and value."),
    ] = {}


@dataclass(frozen=True)
class Project:
    """Validated experiments (by family, then name) and figures of the selected families.

    `base` is the folder of the results of all scales, `settings` the changes of models. `left_out` contains the experiments that
    require a missing file; `experiments` and `figures` do not contain them or their figures.
    """

    scale: str
    seed: int
    base: str
    settings: Mapping[str, Mapping]
    experiments: dict[str, dict[str, Experiment]]
    figures: dict[str, Figure]
    left_out: tuple[Experiment, ...]

    @property
    def results(self) -> str:
        """The folder of all results: `smoke` has a separate one, `paper` extends the results of `laptop`."""
        return results_folder(self.base, self.scale)

    def folder(self, part: Estimator) -> str:
        """The folder of the files of an estimator or of data."""
        return part_folder(self.results, part)

    def chunk_paths(self, family: str, experiment: str) -> list[str]:
        """The files of all chunks of an experiment."""
        parts = self.experiments[family][experiment].estimators.values()
        return [f"{self.folder(part)}/{chunk.name}.nc" for part in parts for chunk in part.chunks]

    def data_paths(self, part: Estimator, chunk: str) -> list[str]:
        """The files of the data that one chunk job reads; none when its estimator reads no data."""
        if part.reads is None:
            return []
        return [f"{self.folder(part.reads)}/{item.name}.nc" for item in part.data_chunks(part.chunk(chunk))]

    def cube_path(self, family: str, experiment: str) -> str:
        """The file of one cube."""
        return f"{self.results}/cubes/{family}/{experiment}.nc"

    def figure_paths(self, name: str) -> list[str]:
        """The two files of one figure, PDF and PNG."""
        return [f"{self.results}/figures/{self.figures[name].family}/{name}.{kind}" for kind in ("pdf", "png")]

    def figure_cubes(self, name: str) -> list[str]:
        """The files of the cubes of one figure."""
        figure = self.figures[name]
        return [self.cube_path(figure.family, cube) for cube in figure.cubes]

    def family_targets(self, family: str) -> list[str]:
        """All cubes and figures of one family."""
        cubes = [self.cube_path(family, name) for name in self.experiments[family]]
        figures = [name for name, figure in self.figures.items() if figure.family == family]
        return cubes + [path for name in figures for path in self.figure_paths(name)]

    def targets(self) -> list[str]:
        """All cubes and figures."""
        return [path for family in self.experiments for path in self.family_targets(family)]

    def notes(self) -> list[str]:
        """One line for each experiment that is left out: the missing file, and where to put it."""
        return [f"{item.path}: left out, with its figures: {'; '.join(item.missing())}" for item in self.left_out]

    def names(self, family: str, section: str) -> list[str]:
        """The estimators, or the kinds of data (`section`), that the experiments of a family use."""
        used = {name for item in self.experiments[family].values() for name in getattr(item, section)}
        return sorted(used)

    def rule_name(self, family: str, name: str) -> str:
        """The name of the rule of an estimator or of data: prefix of the family, then name, as in smi_gamp."""
        prefix = load_family(family).prefix
        return name if name.startswith(f"{prefix}_") else f"{prefix}_{name}"

    def part(self, family: str, experiment: str, name: str) -> Estimator:
        """An estimator of an experiment, or data of it."""
        return self.experiments[family][experiment].parts[name]

    @functools.cached_property
    def codes(self) -> dict[tuple[str, str, str], str]:
        """The code digest of every estimator and every kind of data, by family, experiment and name."""
        return {
            (item.family, item.name, name): chunk_code(part)
            for item in self._all()
            for name, part in item.parts.items()
        }

    @functools.cached_property
    def cube_digests(self) -> dict[tuple[str, str], str]:
        """The digest of every cube, by family and experiment."""
        return {(item.family, item.name): cube_digest(item, self.seed) for item in self._all()}

    def figure_digest(self, name: str) -> str:
        """The digest of one figure: the code that draws it, and the digests of its cubes."""
        figure = self.figures[name]
        cubes = {cube: self.cube_digests[figure.family, cube] for cube in figure.cubes}
        return digest([code_digest(figure.module), cubes])

    def _all(self) -> list[Experiment]:
        return [item for group in self.experiments.values() for item in group.values()]


def results_folder(base: str, scale: str) -> str:
    """The folder of all results of a scale below the folder `base` of all results."""
    return f"{base}/smoke" if scale == "smoke" else base


def part_folder(results: str, part: Estimator) -> str:
    """The folder, below that of a scale's results, of the files of an estimator or of data."""
    section = "data" if part.is_data else "estimators"
    return f"{results}/{FOLDERS[section]}/{part.family}/{part.experiment}/{part.name}"


def load_project(root: Path, config: dict | None = None) -> Project:
    """Read, validate and expand everything below `root`: `config/`, and the captions beside the modules of figures.

    `config` replaces the content of `config/config.yaml`. Raises SpecError with all problems of all files.
    """
    folder = root / "config"
    if not folder.is_dir():
        raise SpecError([f"{folder}: no such folder; name the folder that holds config/ with --project"])
    source = folder / "config.yaml"
    run, wrong = validated(Run, read_yaml(source) if config is None else config)
    if wrong:
        raise SpecError([f"{source}: {'.'.join(keys) or 'file'}: {text}" for keys, text in wrong])
    families = sorted(path.parent.name for path in folder.glob("*/experiments"))
    found = [
        f"{source}: {key}: {name!r}: no folder {folder / name / 'experiments'}"
        for key, names in (("families", run.families if run.families != "all" else ()), ("set", run.set))
        for name in names
        if name not in families
    ]
    chosen = [name for name in families if run.families == "all" or name in run.families]
    experiments, left_out = {}, []
    for family in chosen:
        for path in sorted((folder / family / "experiments").glob("*.yaml")):
            # Both are names in targets and in the lines of the shell.
            if not all(re.fullmatch(NAME, name) for name in (family, path.stem)):
                allowed = "allowed: a name of a-z, 0-9 and _ that begins with a letter"
                found.append(f"{path}: the family and the file: {allowed}")
                continue
            try:
                experiment = load_experiment(path, run.scale, run.set)
            except SpecError as error:
                found += error.problems
                continue
            known = experiments.setdefault(family, {})
            if experiment.missing():
                left_out.append(experiment)
            else:
                known[experiment.name] = experiment
    figures: dict[str, Figure] = {}
    for family in experiments if not found else ():
        absent = {item.name for item in left_out if item.family == family}
        mine, wrong = load_figures(folder / family / "figures.yaml", family, experiments[family], absent)
        found += wrong
        figures |= mine
    if found:
        raise SpecError(found)
    return Project(run.scale, run.seed, run.results, run.set, experiments, figures, tuple(left_out))
