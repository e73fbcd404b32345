"""Base classes of the specifications in the `specs.py` of every family, and the messages of their errors.

One class describes one estimator, or one kind of data. Its sections `model`, `grid` and `solver` are classes too.
A field has a range, perhaps a default, and a description with the normalisation:

    Alpha = Annotated[float, Field(ge=0, le=100, description="Samples per dimension, n / D.")]

    class Grid(Section):
        alpha: Axis[Alpha]

Numbers are strict: text and truth values are no numbers. `Whole` accepts 1.0e+3 for 1000.
"""

import functools
import json
from collections.abc import Iterable, KeysView
from pathlib import Path
from typing import Annotated, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

# The path of keys to a value, and a message about the value.
Problem = tuple[tuple[str, ...], str]


def _whole(value):
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]
# A name in targets and in the lines of the shell.
NAME = "^[a-z][a-z0-9_]*$"
Name = Annotated[str, Field(pattern=NAME)]


class Section(BaseModel):
    """A mapping with known keys."""

    # A class is built when it validates for the first time: a job needs one of many.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)

    def plain(self) -> dict:
        """The values as plain data, without the keys that have no value."""
        return self.model_dump(exclude_none=True)


class Range(Section):
    """Evenly spaced values, both ends included, and further ones."""

    start: float = Field(description="First value.")
    stop: float = Field(description="Last value, included.")
    num: Whole = Field(ge=1, le=100_000, description="Number of values.")
    spacing: Literal["linear", "log"] = Field(
        "linear", description="Even spacing of the values or of their logarithms."
    )
    also: list[float] = Field(
        [],
        max_length=100_000,
        description="Further values of the axis, such as those that `attention-limits refine` adds.",
    )


class Values(Section):
    """A list of values."""

    values: list[Annotated[float, Field(description="One value of the axis.")]] = Field(
        min_length=1, max_length=100_000, description="The values, strictly increasing."
    )


# The axis of a grid key. A file writes a Range, or Values, or the word model for the value of the key in the model.
# `pipeline.experiment` expands the axis to a list before it calls a class.
Axis = list


class Nothing(Section):
    """No keys."""


class Resources(Section):
    """Threads, memory and time of one job. They never change a number."""

    threads: Whole = Field(1, ge=1, le=1024, description="Cores of one job.")
    memory: Whole = Field(1000, ge=100, description="Memory of one job in megabytes.")
    minutes: Whole = Field(60, ge=1, description="Longest run time of one job in minutes.")


_ValuesOfJob = Annotated[Whole, Field(ge=1, description="Number of values of this key in one job.")]


class DataSpecification(Section):
    """One kind of data that estimators read: one file holds some replicas of one grid value."""

    model: Section = Nothing()
    grid: Section = Nothing()
    solver: Section = Nothing()
    replicas: Whole = Field(1, ge=1, le=1_000_000, description="Number of independent repetitions at each grid value.")
    chunk: dict[str, _ValuesOfJob] = Field({}, description="Number of replicas in one file; without this key, one.")
    resources: Resources = Resources()

    @classmethod
    def cross_checks(cls, estimator) -> Iterable[Problem]:
        """Problems of several keys together, of an expanded `estimator.Estimator` whose single keys are valid.

        Paths that begin with `model` are paths of the file; all others are below the estimator.
        """
        return ()

    @classmethod
    def code_files(cls, estimator) -> Iterable[Path]:
        """Files outside of the package whose bytes decide the numbers."""
        return ()

    @classmethod
    def code_modules(cls, estimator) -> Iterable[str]:
        """Modules of the package that decide the numbers although no import names them."""
        return ()

    @classmethod
    def work(cls, estimator) -> dict[str, float]:
        """Powers of keys of grid, solver, model and data. Their product estimates how the CPU time of a point grows.

        A key that the estimator does not have counts as constant. `attention-limits estimate` prints these powers.
        """
        return {}


class Specification(DataSpecification):
    """One estimator. An estimator that reads data adds the key `reads` with the names of the data that it can read."""

    chunk: dict[str, _ValuesOfJob] = Field(
        {}, description="Numbers of values in one job, by grid key and for replicas; without a key, all values."
    )


def located(source: Path | str, problems: Iterable[Problem], *above: str) -> list[str]:
    """One line for each problem: the file, the path of keys, which begins with `above`, and the message."""
    return [f"{source}: {'.'.join((*above, *keys)) or 'file'}: {text}" for keys, text in problems]


# pydantic has these names for the bounds of a number that a function looks at first.
_STANDARD = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


@functools.cache
def json_schema(cls: type[BaseModel]) -> dict:
    """The JSON Schema of a class without references, and without null beside one alternative.

    The mapping of a discriminator holds the schemas of the members of the union.
    """
    schema = cls.model_json_schema()

    def plain(node):
        if not isinstance(node, dict):
            return [plain(item) for item in node] if isinstance(node, list) else node
        found = {_STANDARD.get(key, key): plain(item) for key, item in node.items() if key not in ("$ref", "$defs")}
        if "propertyName" in node:
            found["mapping"] = {kind: referred(path) for kind, path in node["mapping"].items()}
        if "$ref" in node:
            return {**referred(node["$ref"]), **found}
        members = [item for item in found.get("anyOf", ()) if item != {"type": "null"}]
        if len(members) == 1:
            del found["anyOf"]
            return {**members[0], **found}
        return found

    def referred(path):
        return plain(schema["$defs"][path.rpartition("/")[2]])

    return plain(schema)


_Model = TypeVar("_Model", bound=BaseModel)


def validated(cls: type[_Model], value) -> tuple[_Model | None, list[Problem]]:
    """An instance and no problems, or None and the problems: key path and message with the value and what is allowed."""
    try:
        return cls.model_validate(value), []
    except ValidationError as error:
        return None, sorted({_problem(json_schema(cls), item) for item in error.errors(include_url=False)})


def _problem(schema: dict, item: ErrorDetails) -> Problem:
    if item["loc"] and item["loc"][-1] == "[key]":
        # pydantic means the key itself, not its value.
        keys, _, _ = _walk(schema, item["loc"][:-1])
        return keys, f"unknown key; allowed: names matching {item['ctx']['pattern']}"
    keys, node, parent = _walk(schema, item["loc"])
    if item["type"] == "extra_forbidden":
        return keys, f"unknown key; allowed: {', '.join(sorted(parent.get('properties', {}))) or 'none'}"
    if item["type"] == "missing":
        # A grid key is an axis; these are the usual forms.
        axis = "{start, stop, num} or {values: [...]}, each value " if keys[:-1] == ("grid",) else ""
        return keys, f"missing; allowed: {axis}{describe(node.get('items', {}) if axis else node)}"
    if item["type"] == "value_error":
        return keys, str(item["ctx"]["error"])
    value, allowed = item["input"], describe(node)
    if item["type"] in ("union_tag_invalid", "union_tag_not_found"):
        key, names = node["discriminator"]["propertyName"], ", ".join(sorted(node["discriminator"]["mapping"]))
        return (*keys, key), f"{json.dumps(value.get(key))}: allowed: {names}"
    return keys, f"{json.dumps(value, default=str)}: allowed: {allowed}"


def _walk(schema: dict, location: tuple) -> tuple[tuple[str, ...], dict, dict]:
    """The key path of an error, the schema of its value, and the schema of what holds it."""
    keys, node, parent = [], schema, schema
    for key in location:
        tagged = node.get("discriminator", {}).get("mapping", {}).get(key)
        if tagged:
            # pydantic names the chosen member of a union; no such key was written.
            node = tagged
            continue
        if isinstance(key, str) and key not in node.get("properties", {}) and key not in node and "anyOf" in node:
            continue
        parent, inner = node, node.get("properties", {}).get(key)
        if inner is None:
            values = [node.get("additionalProperties"), *node.get("patternProperties", {}).values()]
            inner = node.get("items") if isinstance(key, int) else next(filter(None, values), None)
        node = inner if isinstance(inner, dict) else {}
        keys.append(str(key))
    return tuple(keys), node, parent


_TYPES = {
    "object": "a mapping", "array": "a list", "string": "text", "integer": "a whole number", "number": "a number",
    "boolean": "true or false",
}  # fmt: skip
_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
_SIZES = {
    "minItems": "at least {} items", "minLength": "at least {} characters", "maxItems": "at most {} items",
    "maxLength": "at most {} characters", "minProperties": "at least {} keys",
}  # fmt: skip


def describe(node: dict) -> str:
    """The values that a node of a JSON Schema allows, in words: type, range, description."""
    words = []
    if "const" in node:
        words.append(f"exactly {json.dumps(node['const'])}")
    elif "enum" in node:
        words.append("one of " + ", ".join(json.dumps(item) for item in node["enum"]))
    elif "discriminator" in node:
        key, names = node["discriminator"]["propertyName"], sorted(node["discriminator"]["mapping"])
        words.append(f"a mapping with {key}: {' or '.join(names)}")
    elif "anyOf" in node:
        words.append(" or ".join(describe(item) for item in node["anyOf"] if item.get("type") != "null"))
    elif "type" in node:
        words.append(_TYPES[node["type"]])
    sizes = [text.format(node[key]) for key, text in _SIZES.items() if key in node]
    if sizes:
        words.append("of " + " and ".join(sizes))
    bounds = [f"{sign} {node[key]:g}" for key, sign in _BOUNDS.items() if key in node]
    if "minimum" in node and node["minimum"] == node.get("maximum"):
        words.append(f"equal to {node['minimum']:g}")
    elif bounds:
        words.append(" and ".join(bounds))
    if "pattern" in node:
        words.append(f"matching {node['pattern']}")
    text = " ".join(words) or "any value"
    return f"{text} ({node['description'].rstrip('.')})" if "description" in node else text


@functools.cache
def fields(cls: type[Section], section: str) -> KeysView[str]:
    """The keys of a section of a specification, in the order of its class."""
    return cast(type[Section], cls.model_fields[section].annotation).model_fields.keys()
