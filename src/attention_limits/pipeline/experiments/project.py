"""The whole project at one scale and seed: its experiments and figures, and where their files are."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from attention_limits.pipeline.base.errors import SpecError, did_you_mean, short
from attention_limits.pipeline.base.provenance import PACKAGE, has_module
from attention_limits.pipeline.base.user_files import user_file
from attention_limits.pipeline.experiments.estimator import Experiment
from attention_limits.pipeline.experiments.experiment import load_experiment, without_effect
from attention_limits.pipeline.experiments.figures import Figure, load_figures
from attention_limits.pipeline.experiments.messages import located, validated
from attention_limits.pipeline.experiments.specification import NAME, Name, Section, Whole
from attention_limits.pipeline.experiments.yaml_reader import read_yaml, typed

RESULTS = "results"


def _expanded(path: str) -> str:
    """The path as targets have it: without ./ and // and / at its end; a folder on disk is found as in `user_file`.

    No shell replaces ~ in `results=~/run`; a folder of the name ~ is a trap.
    """
    if path.startswith("~"):
        raise ValueError(f"{json.dumps(path)}: allowed: the path itself, without ~ at its start")
    if any(len(os.fsencode(part)) > 255 for part in Path(path).parts):
        raise ValueError(f"{json.dumps(short(path))}: allowed: names of folders of at most 255 bytes")
    return str(Path(path) if path.isascii() else user_file("", path))


# A path that is written into targets and wildcards of Snakemake.
_Path = Annotated[
    str,
    AfterValidator(_expanded),
    Field(
        pattern=r"^[^-{}*?\[\]\n][^{}*?\[\]\n]*$",
        description="Folder, absolute or relative to the working directory; no {}*?[] in it.",
    ),
]


def _listed(value):
    """One family, or several with commas, in place of a list, as the command line gives them."""
    names = [name.strip() for name in value.split(",")] if isinstance(value, str) and value != "all" else value
    for name in names if isinstance(names, list) else ():
        if isinstance(name, str) and not re.match(NAME, name):
            allowed = f"all, or folders of config/, whose names match {NAME}"
            raise ValueError(f"{json.dumps(name)}: allowed: {allowed}{did_you_mean(name, [_as_name(name)])}")
    return names


def _as_name(text: str) -> str:
    return re.sub(r"\W", "_", text.lower())


def _changes(value):
    """The changes as `typed`. ValueError with the allowed form if the family or the model is missing."""
    value = typed(value)
    for name, item in value.items() if isinstance(value, dict) else ():
        if isinstance(item, dict) and item and not any(isinstance(inner, dict) for inner in item.values()):
            form, what = f"{{family: {{{name}: {json.dumps(item)}}}}}", "the family is missing"
            if has_module(f"{PACKAGE}.{name}"):
                form, what = f"{{{name}: {{model: {json.dumps(item)}}}}}", "the model is missing"
            raise ValueError(f"{name}: {what}; allowed: {form}")
    return value


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
    families: Annotated[
        Literal["all"] | Annotated[list[Name], Field(min_length=1)],
        BeforeValidator(_listed),
        Field(description="Families to compute: all, or a list of folders of config/."),
    ] = "all"
    figures: Literal["papers", "all"] = Field(
        "all",
        description=(
            "Figures to make: all, or papers: without those that figures.yaml calls extra, without the cubes of these alone, and "
            "without the experiments that their files call extra."
        ),
    )
    set: Annotated[
        dict[Name, dict[Name, dict]],
        BeforeValidator(_changes),
        Field(
            description=(
                "Changes: family, then name of a model, then key and value; or family, then name of an experiment, then an "
                "overlay as in its scales, which also changes grids, replicas and solvers."
            )
        ),
    ] = {}

    @property
    def folder(self) -> str:
        """The folder of all results of the scale: `smoke` has a separate one, `paper` extends the results of `laptop`."""
        return f"{self.results}/smoke" if self.scale == "smoke" else self.results

    def written(self) -> list[str]:
        """The options that decide the numbers and the folder, as `--config` of Snakemake takes them."""
        options = [f"scale={self.scale}", f"seed={self.seed}"]
        options += [f"results={self.results}"] if self.results != RESULTS else []
        return options + ([f"set={json.dumps(self.set)}"] if self.set else [])


@dataclass(frozen=True)
class Project:
    """Validated experiments (by family, then name) and figures of the selected families.

    `run` holds the options of the run. `left_out` contains the experiments that require a missing file; `experiments` and
    `figures` do not contain them or their figures, whose names are the keys of `not_drawn`, with their experiments. `unchanged`
    has a line for each change of a model that changes nothing.
    """

    run: Run
    experiments: dict[str, dict[str, Experiment]]
    figures: dict[str, Figure]
    left_out: tuple[Experiment, ...]
    unchanged: tuple[str, ...] = ()
    not_drawn: Mapping[str, list[Experiment]] = field(default_factory=dict)

    def all(self) -> list[Experiment]:
        """The experiments of all selected families."""
        return [item for group in self.experiments.values() for item in group.values()]

    def targets(self, family: str) -> list[str]:
        """The files of the cubes and figures of a family that the run makes; see `Run.figures`."""
        figures = [figure for figure in self.figures.values() if figure.family == family]
        every = self.run.figures == "all"
        made = [figure for figure in figures if every or not figure.extra]
        drawn = {name for figure in figures for name in figure.cubes}
        needed = {name for figure in made for name in figure.cubes}
        cubes = [
            item
            for name, item in self.experiments[family].items()
            if name in needed or (name not in drawn and (every or not item.extra))
        ]
        folder = self.run.folder
        return [item.cube_path(folder) for item in cubes] + [path for item in made for path in item.paths(folder)]

    def in_the_way(self) -> list[str]:
        """One line for each target where a folder stands, and for each of their folders where a file stands."""
        targets = [path for family in self.experiments for path in self.targets(family)]
        places = {
            str(place)
            for path in targets
            for place in Path(path).parents
            if len(place.parts) > len(Path(self.run.results).parts)
        }
        lines = [f"{path}: is a folder; remove it, a file belongs there" for path in targets if os.path.isdir(path)]
        blocked = [place for place in sorted(places) if os.path.exists(place) and not os.path.isdir(place)]
        return lines + [f"{place}: is a file; remove it, a folder belongs there" for place in blocked]

    def notes(self) -> list[str]:
        """One line for each experiment that is left out, with the missing file, and for each change without effect."""
        return [*map(_without, self.left_out), *self.unchanged]

    def wrong_target(self, name: str, rules: Iterable[str]) -> str:
        """Why the workflow has no figure, family or rule `name` among its `rules`."""
        if name in self.not_drawn:
            return "\n".join(map(_without, self.not_drawn[name]))
        return f"{name}: no such figure, family or rule{did_you_mean(name, [*self.not_drawn, *rules])}"


def _without(experiment: Experiment) -> str:
    return f"{experiment.path}: left out, with its figures: {'; '.join(experiment.missing())}"


def load_project(root: Path, config: dict | None = None) -> Project:
    """Read, validate and expand everything below `root`: `config/`, and the captions beside the modules of figures.

    `config` replaces the content of `config/config.yaml`. Raises SpecError with all problems of all files.
    """
    folder = root / "config"
    if not folder.is_dir():
        raise SpecError(
            [
                f"{folder}: no such folder; name the folder that holds config/ with --project, in snakemake --config project=..."
            ]
        )
    source = folder / "config.yaml"
    written = read_yaml(source) if config is None or source.is_file() else {}
    run, wrong = validated(Run, written if config is None else config)

    def origin(key: str) -> Path | str:
        """The file, or the command line if it gives another value."""
        return source if config is None or (key in written and config.get(key) == written[key]) else "--config"

    if run is None:
        raise SpecError(
            [line for keys, text in wrong for line in located(origin(keys[0] if keys else ""), [(keys, text)])]
        )
    for place in (Path(run.results), *Path(run.results).parents):
        if place.is_symlink() and not os.path.exists(place):
            raise SpecError(
                [f"{origin('results')}: results: {run.results}: {place} is a link to nothing; allowed: a folder"]
            )
    place = next(filter(os.path.exists, (Path(run.results), *Path(run.results).parents)), Path())
    if not os.path.isdir(place):
        raise SpecError([f"{origin('results')}: results: {run.results}: {place} is a file; allowed: a folder"])
    families = sorted(path.parent.name for path in folder.glob("*/experiments"))
    found = [
        f"{origin(key)}: {key}: {name!r}: no folder {folder / name / 'experiments'}{did_you_mean(name, families)}"
        for key, names in (("families", run.families if run.families != "all" else ()), ("set", run.set))
        for name in names
        if name not in families
    ]
    chosen = [name for name in families if run.families == "all" or name in run.families]
    experiments: dict[str, dict[str, Experiment]] = {}
    left_out, unchanged = [], []
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
            unchanged += without_effect(experiment, run.scale, run.set.get(family, {}))
            known = experiments.setdefault(family, {})
            if experiment.missing():
                left_out.append(experiment)
            else:
                known[experiment.name] = experiment
    figures: dict[str, Figure] = {}
    not_drawn: dict[str, list[Experiment]] = {}
    for family in experiments if not found else ():
        absent = {item.name: item for item in left_out if item.family == family}
        mine, others, problems = load_figures(
            folder / family / "figures.yaml", family, experiments[family], set(absent)
        )
        found += problems
        figures |= mine
        not_drawn |= {name: [absent[cube] for cube in cubes] for name, cubes in others.items()}
    if found:
        # A wrong change appears in each experiment of the family, an unknown key with the keys that its estimators allow.
        first: dict[str, str] = {}
        for line in found:
            first.setdefault(re.sub("(^set: .*: unknown key;).*", r"\1", line), line)
        raise SpecError(list(first.values()))
    project = Project(run, experiments, figures, tuple(left_out), tuple(unchanged), not_drawn)
    if in_the_way := project.in_the_way():
        raise SpecError(in_the_way)
    return project
