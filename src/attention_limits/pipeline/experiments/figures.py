"""The figures of config/<family>/figures.yaml: the module that draws each, its caption, its cubes."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from attention_limits.pipeline.base import provenance
from attention_limits.pipeline.base.errors import allowed_names
from attention_limits.pipeline.base.files import digest
from attention_limits.pipeline.base.provenance import PACKAGE, code_digest, has_module, module_in
from attention_limits.pipeline.base.registry import registry
from attention_limits.pipeline.experiments.estimator import Experiment
from attention_limits.pipeline.experiments.experiment import load_family
from attention_limits.pipeline.experiments.messages import located, validated
from attention_limits.pipeline.experiments.specification import Name, Section
from attention_limits.pipeline.experiments.yaml_reader import read_yaml

# The heading between the caption of a figure and its notes, in one file of reStructuredText.
NOTES = ".. rubric:: Notes"
# A number of the cubes in a caption: {name}, or {name:format} with a format of Python such as .2f.
PLACEHOLDER = re.compile(r"\{(\w+)(?::([^{}\s]*))?\}")
# Stands where the number is missing: the figure is not drawn, or its cubes do not determine it.
MISSING = "…"


class FigureEntry(Section):
    """One figure: its module and its cubes."""

    title: str = Field(min_length=1, description="The finding, one line.")
    question: str = Field(
        "", description="The question that the title answers. The gallery opens with the figures that have one."
    )
    cubes: list[Name] = Field(min_length=1, description="Experiments of the family.")
    same_model: list[str] = Field(
        [], description="Keys of the model that must have the same value in all cubes of the figure."
    )
    module: Annotated[
        Name | None,
        Field(description="Module in the folder figures of the family, if its name is not that of the figure."),
    ] = None
    extra: bool = Field(False, description="No figure of the papers: a run with `figures: papers` leaves it out.")
    variable: str | None = Field(
        None, description="Variable on which the explorer opens the cubes of the figure; by default one that varies."
    )
    check: bool = Field(False, description="A check of methods or known results: the page of accuracy shows it.")


@dataclass(frozen=True)
class Figure:
    """One figure: its module, its cubes (experiments by name) and its caption."""

    name: str
    family: str
    title: str
    module: str
    cubes: dict[str, Experiment]
    caption: Path
    extra: bool
    question: str
    check: bool

    def paths(self, results: str) -> list[str]:
        """The two files, PDF and PNG, below the folder `results` of the scale."""
        return [f"{results}/figures/{self.family}/{self.name}.{kind}" for kind in ("pdf", "png")]

    def digest(self, seed: int) -> str:
        """Digest of the code that draws the figure, and of its cubes."""
        return digest([code_digest(self.module), {name: cube.digest(seed) for name, cube in self.cubes.items()}])


def figure_module(family: str, name: str) -> str:
    """The module that draws a figure."""
    return module_in(f"{PACKAGE}.{family}.figures", name)


def caption_file(module: str, name: str) -> Path:
    """The caption of the figure `name`: it stands beside the module that draws it."""
    return provenance.SOURCE.joinpath(*module.split(".")[1:-1], f"{name}.rst")


def read_caption(file: Path, numbers: Mapping[str, float]) -> tuple[str, str]:
    """The caption of a figure, 60 to 120 words, and its notes: methods, choices, differences from the publication.

    `numbers` are those of its picture (`numbers_of_picture`); see `filled`.
    """
    caption, _, notes = filled(file.read_text(encoding="utf-8"), numbers).partition(f"\n{NOTES}\n")
    return caption.strip(), notes.strip()


def filled(text: str, numbers: Mapping[str, float]) -> str:
    """A text with the `numbers` in place of its placeholders `{name:format}`, and with `MISSING` where there is none."""

    def written(found: re.Match) -> str:
        number = numbers.get(found[1], math.nan)
        return format(number, found[2] or "") if math.isfinite(number) else MISSING

    return PLACEHOLDER.sub(written, text)


def load_figures(
    source: Path, family: str, experiments: Mapping[str, Experiment], left_out: set[str]
) -> tuple[dict[str, Figure], dict[str, list[str]], list[str]]:
    """The figures of a family by name; those of experiments that are left out, with these; and the problems of all figures."""
    if not source.is_file():
        return {}, {}, []
    figures, absent, found, prefix = {}, {}, [], load_family(family).prefix
    for name, written in read_yaml(source).items():
        entry, wrong = validated(FigureEntry, written)
        found += located(source, wrong, name)
        if entry is None:
            continue
        known = [*experiments, *left_out]
        unknown = [cube for cube in entry.cubes if cube not in known]
        found += [f"{source}: {name}.cubes: {cube!r}: {allowed_names(cube, known)}" for cube in unknown]
        cubes = {cube: experiments[cube] for cube in entry.cubes if cube in experiments}
        for key in entry.same_model:
            found += [f"{source}: {name}.same_model: {text}" for text in _differing(key, cubes.values())]
        variables = registry(family).variables
        if entry.variable is not None and entry.variable not in variables:
            found.append(f"{source}: {name}.variable: {entry.variable!r}: {allowed_names(entry.variable, variables)}")
        module = figure_module(family, entry.module or name)
        caption = caption_file(module, name)
        if not has_module(module):
            found.append(f"{source}: {name}: no module {module}")
        if not caption.is_file():
            found.append(f"{source}: {name}: no caption {caption}")
        if len(cubes) == len(entry.cubes):
            figure = Figure(
                name=f"{prefix}_{name}", family=family, title=entry.title, module=module, cubes=cubes, caption=caption,
                extra=entry.extra, question=entry.question, check=entry.check,
            )  # fmt: skip
            figures[figure.name] = figure
        absent[f"{prefix}_{name}"] = [cube for cube in entry.cubes if cube in left_out]
    return figures, {name: cubes for name, cubes in absent.items() if cubes}, found


def _differing(key: str, experiments: Iterable[Experiment]) -> list[str]:
    """A message if a key of the model has different values in the estimators that have it."""
    values: dict[str, set[str]] = {}
    for experiment in experiments:
        for estimator in experiment.estimators.values():
            for value in estimator.grid.get(key, [estimator.model[key]] if key in estimator.model else []):
                values.setdefault(str(value), set()).add(experiment.path.name)
    if len(values) == 1:
        return []
    found = "; ".join(f"{value} in {', '.join(sorted(names))}" for value, names in values.items())
    return [f"{key}: {found or 'in none of the cubes'}: the cubes of one figure must have the same value"]
