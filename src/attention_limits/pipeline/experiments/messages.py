"""Messages about wrong values: where they stand, what they are, and what is allowed; and the schema that says it."""

import ast
import functools
import inspect
import json
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from attention_limits.pipeline.base.errors import allowed_names, did_you_mean, short
from attention_limits.pipeline.experiments.specification import Problem


def located(source: Path | str, problems: Iterable[Problem], *above: str) -> list[str]:
    """One line for each problem: the file, the path of keys, which begins with `above`, and the message."""
    return [f"{source}: {'.'.join(map(str, (*above, *keys))) or 'file'}: {text}" for keys, text in problems]


# pydantic has these names for the bounds of a number that a function looks at first.
_STANDARD = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


@functools.cache
def json_schema(cls: type[BaseModel]) -> dict:
    """The JSON Schema of a class without references, and without null beside one alternative.

    The mapping of a discriminator holds the schemas of the members of the union.
    """
    schema = {"description": _docstring(cls), **cls.model_json_schema()}

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


def _docstring(cls: type) -> str:
    """The docstring of a class, also where the option -OO of Python has removed it from the code."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    return ast.get_docstring(body) or "" if isinstance(body, ast.ClassDef) else ""


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
        return keys, f"unknown key; {allowed_names(keys[-1], sorted(parent.get('properties', {})))}"
    if item["type"] == "missing":
        # A grid key is an axis; these are the usual forms.
        axis = "{start, stop, num} or {values: [...]}, each value " if keys[:-1] == ("grid",) else ""
        return keys, f"missing; allowed: {axis}{describe(node.get('items', {}) if axis else node)}"
    if item["type"] == "value_error":
        return keys, str(item["ctx"]["error"])
    value, allowed = item["input"], describe(node)
    if item["type"] in ("union_tag_invalid", "union_tag_not_found"):
        key, names = node["discriminator"]["propertyName"], sorted(node["discriminator"]["mapping"])
        return (*keys, key), f"{json.dumps(value.get(key))}: {allowed_names(value.get(key) or '', names)}"
    return keys, f"{short(json.dumps(value, default=str))}: allowed: {allowed}{did_you_mean(value, _names(node))}"


def _names(node: dict) -> list[str]:
    """The texts that a node of a JSON Schema allows."""
    return [item for part in (node, *node.get("anyOf", ())) for item in part.get("enum", ()) if isinstance(item, str)]


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
