"""The whole project at one scale and seed: its experiments and figures, and where their files are."""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from attention_limits.pipeline.digests import chunk_code, cube_digest
from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.estimator import Estimator, Experiment
from attention_limits.pipeline.experiment import load_experiment, load_family
from attention_limits.pipeline.files import canonical_json
from attention_limits.pipeline.provenance import PACKAGE, code_digest
from attention_limits.pipeline.specification import Section, Whole, validated
from attention_limits.pipeline.yaml_reader import read_yaml

RESULTS = "results"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_Name = Annotated[str, Field(pattern=f"^{_NAME.pattern}$")]
# A path that is written into targets and wildcards of Snakemake.
_Path = Annotated[
    str,
    Field(
        pattern=r"^[^-{}*?\[\]\n][^{}*?\[\]\n]*$",
        description="Folder, absolute or relative to the working directory; no {}*?[] in it, no / at its end.",
    ),
]


class Run(Section):
    """What one run of the workflow computes. Never a parameter of an experiment."""

    scale: Annotated[
        Literal["laptop", "paper", "smoke"],
        Field(description="How large: laptop, the papers' replica numbers, or a quick test."),
    ] = "laptop"
    seed: Annotated[Whole, Field(ge=0, description="Root seed of all random streams.")] = 0
    results: Annotated[_Path, Field(description="Folder of all results.")] = RESULTS
    project: Annotated[_Path, Field(description="Folder that holds config/, when it is not that of the Snakefile.")] = (
        "."
    )
    families: Annotated[
        Literal["all"] | Annotated[list[_Name], Field(min_length=1)],
        Field(description="all, or a list of folders of config/."),
    ] = "all"
    set: Annotated[
        dict[_Name, dict[_Name, dict]],
        Field(description="Changes of models: family, then name of the model, then key and value."),
    ] = {}  # noqa: RUF012


class FigureEntry(Section):
    """One figure: who draws it, from what."""

    title: Annotated[str, Field(min_length=1, description="One line.")]
    cubes: Annotated[list[_Name], Field(min_length=1, description="Experiments of the family.")]
    same_model: Annotated[
        list[str],
        Field(description="Keys of the model that must have one value in all cubes, which are drawn together."),
    ] = []  # noqa: RUF012
    module: Annotated[
        _Name | None,
        Field(description="Module in the folder figures of the family, if it is not that of the figure's name."),
    ] = None


@dataclass(frozen=True)
class Figure:
    """One figure: the module that draws it and the cubes it is drawn from."""

    name: str
    family: str
    title: str
    module: str
    cubes: tuple[str, ...]
    caption: Path

    def digest(self) -> str:
        """Digest of all that decides the figure beside its cubes: the drawing code and the caption."""
        return code_digest(self.module, extra_files=[self.caption])


@dataclass(frozen=True)
class Project:
    """Validated experiments (by family, then name) and figures of the selected families.

    `base` is the folder of the results of all scales, `settings` the changes of models. `left_out` are the experiments that
    require a file that is missing; they and their figures are nowhere else.
    """

    root: Path
    scale: str
    seed: int
    base: str
    settings: Mapping[str, Mapping]
    experiments: dict[str, dict[str, Experiment]]
    figures: dict[str, Figure]
    left_out: tuple[Experiment, ...]

    @property
    def results(self) -> str:
        """The folder of all results: that of `smoke` is apart, `paper` extends `laptop`."""
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
        """One line for each experiment that is left out, for people: what is missing, and where to put it."""
        return [f"{item.path}: left out, with its figures: {'; '.join(item.missing())}" for item in self.left_out]

    def names(self, family: str, section: str) -> list[str]:
        """The estimators, or the kinds of data (`section`), that the experiments of a family use."""
        used = {name for item in self.experiments[family].values() for name in getattr(item, section)}
        return sorted(used)

    def rule_name(self, family: str, name: str) -> str:
        """The rule of an estimator or of data: prefix of the family and name, as in smi_gamp."""
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

    def cube_digests(self) -> dict[tuple[str, str], str]:
        """The digest of every cube, by family and experiment."""
        return {(item.family, item.name): cube_digest(item, self.seed) for item in self._all()}

    def figure_spec(self, name: str) -> str:
        """The specifications of the cubes of a figure as JSON, one line per cube."""
        figure = self.figures[name]
        return "\n".join(canonical_json(self.experiments[figure.family][cube].effective()) for cube in figure.cubes)

    def _all(self) -> list[Experiment]:
        return [item for group in self.experiments.values() for item in group.values()]


def results_folder(base: str, scale: str) -> str:
    """The folder of all results of a scale below the folder `base` of all results."""
    return f"{base}/smoke" if scale == "smoke" else base


def part_folder(results: str, part: Estimator) -> str:
    """The folder, below that of a scale's results, of the files of an estimator or of data."""
    section = "data" if part.is_data else "chunks"
    return f"{results}/{section}/{part.family}/{part.experiment}/{part.name}"


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
        raise SpecError(_lines(source, wrong))
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
            try:
                experiment = _named_experiment(path, run)
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
        mine, wrong = _load_figures(root, family, experiments[family], left_out)
        found += wrong
        found += [
            f"{name}: this name is taken by another figure or family" for name in mine if name in (*figures, *families)
        ]
        figures |= mine
    if found:
        raise SpecError(found)
    return Project(root, run.scale, run.seed, run.results, run.set, experiments, figures, tuple(left_out))


def _named_experiment(path: Path, run: Run) -> Experiment:
    # Both are names in targets and in the lines of the shell.
    if not all(_NAME.fullmatch(name) for name in (path.parents[1].name, path.stem)):
        allowed = "allowed: a name of a-z, 0-9 and _ that begins with a letter"
        raise SpecError([f"{path}: the family and the file: {allowed}"])
    experiment = load_experiment(path, run.scale, run.set)
    if not experiment.missing():
        try:
            for part in experiment.parts.values():
                chunk_code(part)
        except ModuleNotFoundError as error:
            raise SpecError([f"{path}: {error}"]) from None
    return experiment


def _load_figures(
    root: Path, family: str, experiments: dict[str, Experiment], left_out: list[Experiment]
) -> tuple[dict[str, Figure], list[str]]:
    """The figures of a family that no experiment is left out of, and what is wrong with any."""
    source, figures, found = root / "config" / family / "figures.yaml", {}, []
    absent = {item.name for item in left_out if item.family == family}
    prefix = load_family(family).prefix
    for name, written in (read_yaml(source) if source.is_file() else {}).items():
        entry, wrong = validated(FigureEntry, written)
        found += _lines(source, [((name, *keys), text) for keys, text in wrong])
        if not _NAME.fullmatch(name):
            found.append(f"{source}: {name}: allowed: a name of a-z, 0-9 and _ that begins with a letter")
        if entry is None:
            continue
        known = [*experiments, *absent]
        found += [
            f"{source}: {name}.cubes: {cube!r}: allowed: {', '.join(known)}"
            for cube in entry.cubes
            if cube not in known
        ]
        present = [experiments[cube] for cube in entry.cubes if cube in experiments]
        found += [
            f"{source}: {name}.same_model: {text}" for key in entry.same_model for text in _differing(key, present)
        ]
        folder = Path(__file__).parents[1] / family / "figures"
        module = f"{PACKAGE}.{family}.figures.{entry.module or name}"
        figure = Figure(f"{prefix}_{name}", family, entry.title, module, tuple(entry.cubes), folder / f"{name}.rst")
        try:
            figure.digest()
        except ModuleNotFoundError as error:
            found.append(f"{source}: {name}.module: {error}")
        except OSError as error:
            found.append(f"{source}: {name}: its caption {figure.caption} cannot be read: {error.strerror}")
        figures[figure.name] = figure
    return {name: item for name, item in figures.items() if not absent & set(item.cubes)}, found


def _differing(key: str, experiments: list[Experiment]) -> list[str]:
    """What is wrong if a key of the model has not one and the same value in all estimators that have it."""
    values = {}
    for experiment in experiments:
        for part in experiment.estimators.values():
            for value in part.grid.get(key, [part.model[key]] if key in part.model else []):
                values.setdefault(value, set()).add(experiment.path.name)
    if len(values) == 1:
        return []
    found = "; ".join(f"{value} in {', '.join(sorted(names))}" for value, names in values.items())
    return [f"{key}: {found or 'in none of the cubes'}: drawn together, they need one and the same value"]


def _lines(source: Path, found: list[tuple[tuple[str, ...], str]]) -> list[str]:
    return [f"{source}: {'.'.join(keys) or 'file'}: {message}" for keys, message in found]
