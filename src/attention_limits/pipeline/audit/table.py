"""Published numbers beside ours, compared and judged. The digest of the audit holds this code: it imports no messages."""

import importlib
import importlib.util
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

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


def compare(entry: Published, cubes: Mapping[str, object]) -> Row:
    """Read our number off `cubes` (name -> dataset).

    The reading is a function of `readings.py` of the family, or of `pipeline.readings`. It gets the cubes in order, then the
    arguments, and returns the number and its standard error. KeyError means that the point is not there, and so does a
    number or an error that is not finite.
    """
    try:
        number, error = reading(entry)(*(cubes[name] for name in entry.cubes), **entry.arguments)
    except KeyError:
        return Row(entry, None, None)
    known = math.isfinite(number) and math.isfinite(error)
    return Row(entry, number, error) if known else Row(entry, None, None)


def reading(entry: Published) -> Callable | None:
    """The function that reads our number; None when there is none of that name."""
    for module in reading_modules(entry.family):
        found = getattr(importlib.import_module(module), entry.reading, None)
        if found is not None:
            return found
    return None


def reading_modules(family: str) -> list[str]:
    """The modules that hold the readings of a family: its own, if it has one, and the common one."""
    own, common = f"attention_limits.{family}.readings", "attention_limits.pipeline.readings"
    return [*([own] if importlib.util.find_spec(own) else []), common]


def audit_modules(families: list[str]) -> list[str]:
    """The modules that decide, with what they import, the audit of these families."""
    readings = {module for family in families for module in reading_modules(family)}
    return ["attention_limits.pipeline.audit.text", *sorted(readings)]
