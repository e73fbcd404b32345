"""Comparison of published numbers with ours. The digest of the audit contains this code, so it imports no messages."""

import importlib
import importlib.util
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

# Two numbers differ if their distance exceeds this many standard errors; one pair in 370 does by chance.
DIFFERENT = 3.0


@dataclass(frozen=True)
class Published:
    """One published number, and the function that reads our number from the cubes.

    `precision` is the uncertainty of the published number: half of its last digit if the paper does not state it. `reason`
    explains the difference, and is empty if the numbers should agree. `evidence` is a command that shows agreement or reason.
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
    """A published number and ours; `value` is None if the cube does not contain the point at this scale."""

    published: Published
    value: float | None
    error: float | None

    @property
    def distance(self) -> float | None:
        """(ours - published) divided by the root of the sum of both squared errors; None if there is no number."""
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
    """Read our number from `cubes` (name -> dataset).

    The reading is a function of `readings.py` of the family, or of `pipeline.readings`. Its arguments are the cubes in order,
    then `arguments`. It returns the number and its standard error. A KeyError, or a number or error that is not finite, means
    that the cube does not contain the point.
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
    """The modules with the readings of a family: that of the family, if there is one, and the common one."""
    own, common = f"attention_limits.{family}.readings", "attention_limits.pipeline.readings"
    return [*([own] if importlib.util.find_spec(own) else []), common]


def audit_modules(families: list[str]) -> list[str]:
    """The modules that decide, with what they import, the audit of these families."""
    readings = {module for family in families for module in reading_modules(family)}
    return ["attention_limits.pipeline.audit.text", *sorted(readings)]
