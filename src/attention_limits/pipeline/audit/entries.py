"""The published numbers of config/<family>/published.yaml, read and checked."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from attention_limits.pipeline.audit.table import Published, reading
from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.specification import Section, validated
from attention_limits.pipeline.yaml_reader import read_yaml

_Text = Annotated[str, Field(min_length=1)]


class Entry(Section):
    """One published number."""

    quantity: Annotated[_Text, Field(description="Symbol and conditions, one line.")]
    published: Annotated[float, Field(description="The number as published.")]
    precision: Annotated[float, Field(gt=0, description="Its stated error, or half of its last digit.")]
    source: Annotated[_Text, Field(description="Paper and place, or file of published code.")]
    cubes: Annotated[
        list[_Text],
        Field(min_length=1, description="Experiments of the family, in the order of the reading's arguments."),
    ]
    reading: Annotated[_Text, Field(description="Function of readings.py of the family, or of pipeline/readings.py.")]
    arguments: Annotated[dict, Field(description="Keyword arguments of the reading.")] = {}
    reason: Annotated[str, Field(description="Why the numbers differ; empty where they agree.")] = ""
    evidence: Annotated[_Text, Field(description="A command that shows the agreement or the reason.")]


class Table(Section):
    """The published numbers of one family."""

    numbers: Annotated[list[Entry], Field(min_length=1, description="One entry for each number.")]


def load_published(root: Path, cubes: Mapping[str, Mapping]) -> list[Published]:
    """The published numbers of all families in `cubes` (family -> experiments), in the order of the files.

    Raises SpecError with all problems of all files: keys, cubes that do not exist, repeated quantities.
    """
    entries: list[Published] = []
    found = []
    for family in cubes:
        source = root / "config" / family / "published.yaml"
        if not source.is_file():
            continue
        table, wrong = validated(Table, read_yaml(source))
        found += [f"{source}: {'.'.join(keys) or 'file'}: {message}" for keys, message in wrong]
        for entry in table.numbers if table else ():
            name = entry.quantity
            if any(name == other.quantity for other in entries):
                found.append(f"{source}: {name}: has two entries")
            known = ", ".join(cubes[family]) or "none"
            found += [
                f"{source}: {name}: cubes: {cube!r}: allowed: {known}"
                for cube in entry.cubes
                if cube not in cubes[family]
            ]
            entries.append(Published(family=family, **{**entry.plain(), "cubes": tuple(entry.cubes)}))
    if found:
        raise SpecError(found)
    return entries


def require_readings(entries: Iterable[Published]) -> None:
    """Raise SpecError for all numbers whose reading does not exist. This function imports the readings."""
    wrong = [entry for entry in entries if reading(entry) is None]
    if wrong:
        raise SpecError(
            [
                f"{entry.quantity}: reading: {entry.reading!r}: no such function in {entry.family}/readings.py"
                for entry in wrong
            ]
        )
