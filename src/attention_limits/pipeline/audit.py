"""The numbers of config/<family>/published.yaml, published or computed independently, compared with ours."""

import importlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from attention_limits.pipeline.base.errors import SpecError, allowed_names, did_you_mean
from attention_limits.pipeline.base.files import digest
from attention_limits.pipeline.base.provenance import PACKAGE, code_digest, has_module
from attention_limits.pipeline.base.registry import registry
from attention_limits.pipeline.experiments.messages import located, validated
from attention_limits.pipeline.experiments.specification import Section
from attention_limits.pipeline.experiments.yaml_reader import read_yaml

# Two numbers differ if their distance exceeds this many standard errors; one pair in 370 does by chance.
DIFFERENT = 3.0
NOTE = """\
This page lists every published number that its run has checked, in the notation of docs/notation.md. Our number is the mean over
replicas, with its standard error in brackets, in units of the last digits. A number without brackets has no random error. The
error of a published number is its stated error, half of its last digit, or our estimate of the accuracy of a published curve or
statement. The distance is (ours - published), divided by the root of the sum of both squared errors. Two numbers *agree* when
their distance is at most three."""
INDEPENDENT_NOTE = """\
Nobody has published these numbers. Other programs or laws that we do not use computed them; the column Source names them. Errors,
distance and verdict have the same meaning as above."""
# Heading of a family and of the column of the other number, and the note above its tables, by kind.
KINDS = {
    "published": ("## {family}", "Published", NOTE),
    "independent": ("## Independent computations: {family}", "Independent", INDEPENDENT_NOTE),
}
# Verdicts of several numbers.
PLURAL = {"agrees": "agree", "differs": "differ"}

_Text = Annotated[str, Field(min_length=1)]


class Entry(Section):
    """One number of others."""

    kind: Literal["published", "independent"] = Field(
        "published", description="independent: nobody has published the number; another program or law gives it."
    )
    quantity: _Text = Field(description="Symbol and conditions, one line.")
    published: float = Field(description="The number as published, or as computed independently.")
    precision: float = Field(gt=0, description="Its stated error, or half of its last digit.")
    source: _Text = Field(description="Paper and place, file of published code, or independent program.")
    cubes: list[_Text] = Field(
        min_length=1, description="Experiments of the family, in the order of the reading's arguments."
    )
    reading: _Text = Field(description="Function of readings.py of the family, or of pipeline/cubes/readings.py.")
    arguments: dict = Field({}, description="Keyword arguments of the reading.")
    reason: str = Field("", description="Why the numbers differ; empty where they agree.")
    evidence: _Text = Field(description="A command that shows the agreement or the reason.")


class Table(Section):
    """The published numbers of one family."""

    numbers: list[Entry] = Field(min_length=1, description="One entry for each number.")


class Published(Entry):
    """A published number with its family."""

    family: str


def load_published(root: Path, cubes: Mapping[str, Mapping]) -> list[Published]:
    """The published numbers of all families in `cubes` (family -> experiments), in the order of the files.

    Raises SpecError with all problems of all files: keys, cubes that do not exist, repeated quantities.
    """
    entries: dict[str, Published] = {}
    found = []
    for family in cubes:
        source = root / "config" / family / "published.yaml"
        if not source.is_file():
            continue
        table, wrong = validated(Table, read_yaml(source))
        found += located(source, wrong)
        for entry in table.numbers if table else ():
            name, known = entry.quantity, cubes[family]
            if name in entries:
                found.append(f"{source}: {name}: has two entries")
            unknown = [cube for cube in entry.cubes if cube not in known]
            found += [f"{source}: {name}: cubes: {cube!r}: {allowed_names(cube, known)}" for cube in unknown]
            read, variables = entry.arguments.get("variable"), registry(family).variables
            if read is not None and read not in variables:
                found.append(
                    f"{source}: {name}: arguments.variable: {read!r}: no variable of {family}{did_you_mean(read, variables)}"
                )
            entries[name] = Published(family=family, **entry.plain())
    if found:
        raise SpecError(found)
    return list(entries.values())


def reading(entry: Published) -> Callable:
    """The function that reads our number. Raises SpecError when there is none of that name."""
    for module in reading_modules(entry.family):
        found = getattr(importlib.import_module(module), entry.reading, None)
        if found is not None:
            return found
    problem = f"{entry.quantity}: reading: {entry.reading!r}: no such function in {entry.family}/readings.py"
    raise SpecError([problem])


def reading_modules(family: str) -> list[str]:
    """The modules with the readings of a family: that of the family, if there is one, and the common one."""
    modules = f"{PACKAGE}.{family}.readings", f"{PACKAGE}.pipeline.cubes.readings"
    return [module for module in modules if has_module(module)]


def audit_digest(entries: Iterable[Published], project) -> str:
    """sha256 of everything that decides the audit of a `Project`: the entries, their cubes, and the code of the readings."""
    modules = sorted({module for entry in entries for module in reading_modules(entry.family)})
    cubes = sorted({(entry.family, name) for entry in entries for name in entry.cubes})
    made = [project.experiments[family][name].digest(project.run.seed) for family, name in cubes]
    return digest([[entry.plain() for entry in entries], made, code_digest(__name__, *modules)])


def compare(entry: Published, cubes: Mapping[str, object]) -> dict:
    """The entry with our number: `ours`, its standard `error`, `distance` and `verdict`.

    The reading gets `cubes` (name -> dataset) in order, then `arguments`, and returns the number and its standard error. A
    KeyError, or a number or error that is not finite, means that the cube does not contain the point: all are None. Raises
    SpecError where the reading does not take these arguments or cubes.
    """
    read = reading(entry)
    try:
        number, error = read(*(cubes[name] for name in entry.cubes), **entry.arguments)
    except KeyError:
        number = error = math.nan
    except (TypeError, ValueError) as wrong:
        text = " ".join(str(wrong).split())
        raise SpecError(
            [f"{entry.quantity}: {entry.reading} with cubes {entry.cubes} and {entry.arguments}: {text}"]
        ) from wrong
    row = {**entry.plain(), "ours": None, "error": None, "distance": None, "verdict": "not computed"}
    if not (math.isfinite(number) and math.isfinite(error)):
        return row
    distance = (number - entry.published) / math.hypot(error, entry.precision)
    differs = "differs" if entry.reason else "unexplained"
    verdict = "agrees" if abs(distance) <= DIFFERENT else differs
    return {**row, "ours": number, "error": error, "distance": distance, "verdict": verdict}


def number_text(value: float, error: float) -> str:
    """A number with its error in brackets, in units of the last digits, such as 0.2028(2)."""
    if error <= 0:
        return f"{value:.4g}"
    digits = max(0, 1 - math.floor(math.log10(error) + 1e-9))
    # One digit of the error, two where the first is a 1.
    if round(error * 10**digits) >= 20:
        digits -= 1
    digits = max(digits, 0)
    return f"{value:.{digits}f}({round(error * 10**digits)})"


def counts(rows: Iterable[dict]) -> str:
    """The number of each verdict, in words."""
    found = Counter(row["verdict"] for row in rows)
    return ", ".join(f"{found[name]} {name if found[name] == 1 else PLURAL.get(name, name)}" for name in sorted(found))


def full_table(rows: list[dict]) -> str:
    """Markdown with one section per kind and family and one line per number; reasons and evidence below each table."""
    parts = ["# Published numbers, and ours", ""]
    for kind, (heading, column, note) in KINDS.items():
        chosen = [row for row in rows if row["kind"] == kind]
        if chosen:
            parts += [note, "", f"{len(chosen)} {kind} numbers: {counts(chosen)}.", ""]
        for family in dict.fromkeys(row["family"] for row in chosen):
            own = [row for row in chosen if row["family"] == family]
            parts += [heading.format(family=family), "", *_family_table(own, column), ""]
    return "\n".join(parts).rstrip() + "\n"


def _family_table(rows, column):
    """The lines of one table, and of the evidence and reasons below it; `column` names the numbers of others."""
    lines = [f"| Quantity | {column} | Ours | Distance | Verdict | Source |", "|---|---|---|---|---|---|"]
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        computed = row["distance"] is not None
        ours, distance = (number_text(row["ours"], row["error"]), f"{row['distance']:+.1f}") if computed else ("", "")
        other = f"{row['published']:g} ± {row['precision']:g}"
        lines.append(f"| {row['quantity']} | {other} | {ours} | {distance} | {row['verdict']} | {row['source']} |")
        why = f": {row['reason']}" if row["reason"] and row["verdict"] != "agrees" else ""
        groups.setdefault((why, row["evidence"]), []).append(row["quantity"])
    lines += ["", "Evidence, and reasons of the differences:", ""]
    return lines + [f"- {'; '.join(names)}{why}. Evidence: `{evidence}`" for (why, evidence), names in groups.items()]
