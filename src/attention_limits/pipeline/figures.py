"""The figures of config/<family>/figures.yaml: the module that draws each, its caption, its cubes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from attention_limits.pipeline.estimator import Experiment
from attention_limits.pipeline.experiment import load_family
from attention_limits.pipeline.provenance import PACKAGE, SOURCE, has_module
from attention_limits.pipeline.specification import Name, Section, validated
from attention_limits.pipeline.yaml_reader import read_yaml


class FigureEntry(Section):
    """One figure: its module and its cubes."""

    title: str = Field(min_length=1, description="One line.")
    cubes: list[Name] = Field(min_length=1, description="Experiments of the family.")
    same_model: list[str] = Field(
        [], description="Keys of the model that must have the same value in all cubes of the figure."
    )
    module: Annotated[
        Name | None,
        Field(description="Module in the folder figures of the family, if its name is not that of the figure."),
    ] = None


@dataclass(frozen=True)
class Figure:
    """One figure: its module, its cubes and its caption."""

    name: str
    family: str
    title: str
    module: str
    cubes: tuple[str, ...]
    caption: Path


def load_figures(
    source: Path, family: str, experiments: Mapping[str, Experiment], left_out: set[str]
) -> tuple[dict[str, Figure], list[str]]:
    """The figures of a family by name, without those of experiments that are left out, and the problems of all figures."""
    if not source.is_file():
        return {}, []
    figures, found, prefix = {}, [], load_family(family).prefix
    for name, written in read_yaml(source).items():
        entry, wrong = validated(FigureEntry, written)
        found += [f"{source}: {'.'.join((name, *keys))}: {text}" for keys, text in wrong]
        if entry is None:
            continue
        known = [*experiments, *left_out]
        unknown = [cube for cube in entry.cubes if cube not in known]
        found += [f"{source}: {name}.cubes: {cube!r}: allowed: {', '.join(known)}" for cube in unknown]
        present = [experiments[cube] for cube in entry.cubes if cube in experiments]
        found += [
            f"{source}: {name}.same_model: {text}" for key in entry.same_model for text in _differing(key, present)
        ]
        module = f"{PACKAGE}.{family}.figures.{entry.module or name}"
        caption = SOURCE / family / "figures" / f"{name}.rst"
        figure = Figure(f"{prefix}_{name}", family, entry.title, module, tuple(entry.cubes), caption)
        if not has_module(module):
            found.append(f"{source}: {name}: no module {module}")
        if not caption.is_file():
            found.append(f"{source}: {name}: no caption {caption}")
        if not left_out & set(entry.cubes):
            figures[figure.name] = figure
    return figures, found


def _differing(key: str, experiments: list[Experiment]) -> list[str]:
    """A message if a key of the model has different values in the estimators that have it."""
    values = {}
    for experiment in experiments:
        for part in experiment.estimators.values():
            for value in part.grid.get(key, [part.model[key]] if key in part.model else []):
                values.setdefault(str(value), set()).add(experiment.path.name)
    if len(values) == 1:
        return []
    found = "; ".join(f"{value} in {', '.join(sorted(names))}" for value, names in values.items())
    return [f"{key}: {found or 'in none of the cubes'}: the cubes of one figure must have the same value"]
