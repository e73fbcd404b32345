"""JSON Schema (draft 2020-12) with messages for people: key path, value, what is allowed."""

import functools
import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import jsonschema

from attention_limits.errors import SpecError

_NUMBER_TEXT = re.compile(r"([-+]?)(\d+)?(?:\.(\d*))?[eE]([-+]?)(\d+)")


@functools.cache
def load_schema(path: Path) -> dict:
    """Read one JSON Schema file, with every `$ref` replaced by what it points to.

    A `$ref` is `other.json`, `other.json#/properties/model` (relative to the file it stands in) or `#/$defs/axis`. Keys
    beside it are merged into the copy, mapping by mapping, and win. Raises SpecError when a file or a place in it is
    missing, when references go in a circle, or when the result is not a valid schema.
    """
    path = Path(path)
    schema = _inlined(_read_json(path), path, ())
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise SpecError([f"{path}: not a JSON Schema: {error.message}"]) from None
    return schema


@functools.cache
def _read_json(path: Path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError([f"{path}: this schema cannot be read: {error.strerror}"]) from None
    except ValueError as error:
        raise SpecError([f"{path}: not JSON: {error}"]) from None


def _inlined(node, path: Path, open_: tuple[tuple[Path, str], ...]):
    """`node` of the file `path` without references; `open_` are those being replaced at the moment."""
    if isinstance(node, list):
        return [_inlined(item, path, open_) for item in node]
    if not isinstance(node, dict):
        return node
    own = {key: _inlined(item, path, open_) for key, item in node.items() if key != "$ref"}
    reference = node.get("$ref")
    if not isinstance(reference, str):
        return own if reference is None else {**own, "$ref": _inlined(reference, path, open_)}
    name, _, pointer = reference.partition("#")
    target = Path(os.path.normpath(path.parent / name)) if name else path
    if (target, pointer) in open_:
        raise SpecError([f"{path}: $ref {reference!r}: references go in a circle"])
    try:
        found = _read_json(target)
    except SpecError as error:
        raise SpecError([f"{path}: $ref {reference!r}: {problem}" for problem in error.problems]) from None
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or key not in found:
            raise SpecError([f"{path}: $ref {reference!r}: {target} has no {key!r} there"])
        found = found[key]
    return overlaid(_inlined(found, target, (*open_, (target, pointer))), own)


def overlaid(base: dict, overlay: dict, replaces: Callable[[dict, dict], bool] = lambda old, new: False) -> dict:
    """`base` with the values of `overlay` in it, mapping by mapping; neither is changed.

    Where `replaces(old, new)` is true of two mappings, the new one takes the place of the old one as a whole.
    """
    merged = dict(base)
    for key, value in overlay.items():
        old = merged.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        merged[key] = overlaid(old, value, replaces) if both and not replaces(old, value) else value
    return merged


def problems(value, schema: dict, keys: Iterable[str] = ()) -> list[tuple[tuple[str, ...], str]]:
    """Everything in `value` that `schema` forbids: pairs of the key path (below `keys`) and a message."""
    keys = tuple(keys)
    found = []
    for error in jsonschema.Draft202012Validator(schema).iter_errors(value):
        where = keys + tuple(str(part) for part in error.absolute_path)
        found += [(where + extra, message) for extra, message in _messages(error)]
    return sorted(dict.fromkeys(found))


def _messages(error: jsonschema.ValidationError) -> list[tuple[tuple[str, ...], str]]:
    schema, value = error.schema, error.instance
    if error.validator == "additionalProperties":
        patterns = schema.get("patternProperties", {})
        known = sorted(schema.get("properties", {}))
        unknown = [key for key in value if key not in known and not any(re.search(p, key) for p in patterns)]
        allowed = ", ".join(known + [f"names matching {pattern}" for pattern in patterns]) or "none"
        return [((key,), f"unknown key; allowed: {allowed}") for key in unknown]
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in value]
        properties = schema.get("properties", {})
        return [((key,), f"missing; allowed: {describe(properties.get(key, {}))}") for key in missing]
    if error.validator == "type" and isinstance(value, str) and (hint := _number_hint(value)):
        return [((), f"YAML reads {value} as text; write {hint}; allowed: {describe(schema)}")]
    return [((), f"{json.dumps(value, default=str)}: allowed: {describe(schema)}")]


def _number_hint(text: str) -> str | None:
    """How to write a number that YAML 1.1 reads as text, or None when the text is no number."""
    match = _NUMBER_TEXT.fullmatch(text.strip())
    if not match or not (match[2] or match[3]):
        return None
    sign, whole, fraction, exponent_sign, exponent = match.groups()
    return f"{sign}{whole or 0}.{fraction or 0}e{exponent_sign or '+'}{exponent}"


def describe(schema: dict) -> str:
    """What a schema allows, in words: type, range, then its description."""
    words = []
    if "const" in schema:
        words.append(f"exactly {json.dumps(schema['const'])}")
    elif "enum" in schema:
        words.append("one of " + ", ".join(json.dumps(item) for item in schema["enum"]))
    elif "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        names = {"object": "a mapping", "array": "a list", "string": "text", "integer": "a whole number",
                 "number": "a number", "boolean": "true or false", "null": "null"}  # fmt: skip
        words.append(" or ".join(names[name] for name in types))
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {schema[key]:g}" for key, sign in signs.items() if key in schema]
    if bounds:
        words.append(" and ".join(bounds))
    if "pattern" in schema:
        words.append(f"matching {schema['pattern']}")
    sizes = {"minItems": "at least {} items", "minLength": "at least {} characters", "maxItems": "at most {} items",
             "minProperties": "at least {} keys"}  # fmt: skip
    words += [text.format(schema[key]) for key, text in sizes.items() if key in schema]
    text = " ".join(words) or "any value"
    return f"{text} ({schema['description'].rstrip('.')})" if "description" in schema else text


def complete(value, schema: dict):
    """A valid value with the schema's defaults filled in and its numbers in the schema's type.

    `1` where a number is due becomes `1.0`, and `1.0e+3` where a whole number is due becomes `1000`, so that
    two spellings of one value are one value.
    """
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        filled = {key: part["default"] for key, part in properties.items() if "default" in part}
        filled.update(value)
        return {key: complete(item, properties.get(key, {})) for key, item in filled.items()}
    if isinstance(value, list):
        return [complete(item, schema.get("items", {})) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if schema.get("type") == "integer":
        return int(value)
    return float(value) + 0.0 if schema.get("type") == "number" else value
