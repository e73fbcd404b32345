"""Published numbers beside ours: config/audit/<family>.yaml, read, compared and judged."""

import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from attention_limits.errors import SpecError
from attention_limits.provenance import PACKAGE, has_module
from attention_limits.schema import load_schema, problems
from attention_limits.yaml_reader import read_yaml

# Beyond this many standard errors two numbers are said to differ: one in 370 by chance.
DIFFERENT = 3.0


@dataclass(frozen=True)
class Published:
    """One published number, and how ours is read off the cubes.

    `precision` is the uncertainty of the published number: half of its last digit where nothing else is known. `reason` says why
    the two differ, and is empty where they are expected to agree; `evidence` is a command that shows it.
    """

    family: str
    quantity: str
    published: float
    precision: float
    source: str
    cubes: tuple[str, ...]
    reading: str
    arguments: Mapping = field(hash=False)
    reason: str
    evidence: str


@dataclass(frozen=True)
class Row:
    """A published number and ours; `value` is None where the cube does not hold the point at this scale."""

    published: Published
    value: float | None
    error: float | None

    @property
    def distance(self) -> float | None:
        """(ours - published) in units of both errors together; None where there is no number."""
        if self.value is None:
            return None
        return (self.value - self.published.published) / math.hypot(self.error, self.published.precision)

    @property
    def verdict(self) -> str:
        """agrees, differs, unexplained (differs without a reason), or not computed."""
        if self.distance is None:
            return "not computed"
        if abs(self.distance) <= DIFFERENT:
            return "agrees"
        return "differs" if self.published.reason else "unexplained"


def load_published(root: Path, cubes: Mapping[str, Mapping]) -> list[Published]:
    """The published numbers of all families in `cubes` (family -> experiments), in the order of the files.

    Raises SpecError with all problems of all files: keys, cubes that do not exist, quantities that stand twice.
    """
    entries, found = [], []
    for source in sorted((root / "config" / "audit").glob("*.yaml")):
        family = source.stem
        if family not in cubes:
            continue
        schema = load_schema(root / "config" / "schemas" / "audit.json")
        document = read_yaml(source)
        wrong = problems(document, schema)
        found += [f"{source}: {'.'.join(keys) or 'file'}: {message}" for keys, message in wrong]
        if wrong:
            continue
        for entry in document["numbers"]:
            name = entry["quantity"]
            if any(name == other.quantity for other in entries):
                found.append(f"{source}: {name}: stands twice")
            unknown = [cube for cube in entry["cubes"] if cube not in cubes[family]]
            found += [
                f"{source}: {name}: cubes: {cube!r}: allowed: {', '.join(cubes[family]) or 'none'}" for cube in unknown
            ]
            more = {"arguments": {}, "reason": "", **{key: item for key, item in entry.items() if key != "cubes"}}
            entries.append(Published(family=family, cubes=tuple(entry["cubes"]), **more))
    if found:
        raise SpecError(found)
    return entries


def compare(entry: Published, cubes: Mapping[str, object]) -> Row:
    """Read our number off `cubes` (name -> dataset).

    The reading is a function of `attention_limits.readings.<family>`, or of `.common`; it gets the cubes in order, then the
    arguments, and returns the number and its standard error. KeyError means that the point is not there, and so does a
    number or an error that is not finite.
    """
    try:
        number, error = reading(entry)(*(cubes[name] for name in entry.cubes), **entry.arguments)
    except KeyError:
        return Row(entry, None, None)
    known = math.isfinite(number) and math.isfinite(error)
    return Row(entry, number, error) if known else Row(entry, None, None)


def reading(entry: Published):
    """The function that reads our number. Raises SpecError when there is none of that name."""
    for module in reading_modules(entry.family):
        found = getattr(importlib.import_module(module), entry.reading, None)
        if found is not None:
            return found
    raise SpecError(
        [f"{entry.quantity}: reading: {entry.reading!r}: no such function in attention_limits.readings.{entry.family}"]
    )


def reading_modules(family: str) -> list[str]:
    """The modules that the readings of a family are looked for in: its own, if it has one, and the common one."""
    own = f"{PACKAGE}.readings.{family}"
    return [*([own] if has_module(own) else []), f"{PACKAGE}.readings.common"]
