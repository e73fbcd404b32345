"""The estimators of all families, and the keys of each, as tables."""

import json
from collections.abc import Iterator

import pandas as pd

from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.experiment import Family, load_family
from attention_limits.pipeline.provenance import SOURCE
from attention_limits.pipeline.specification import describe as in_words
from attention_limits.pipeline.specification import json_schema

SECTIONS = ("model", "grid", "solver")


def families() -> list[Family]:
    """All families of the package, by name."""
    return [load_family(path.parent.name) for path in sorted(SOURCE.glob("*/specs.py"))]


def estimators() -> pd.DataFrame:
    """One row per estimator: the name for `compute`, its rule in the workflow, what it computes, the data that it can read."""
    rows = []
    for family in families():
        for name, cls in family.estimators.items():
            schema = json_schema(cls)
            reads = schema["properties"].get("reads")
            rows.append(
                {
                    "estimator": f"{family.name}.{name}",
                    "rule": f"{family.prefix}_{name}",
                    "computes": _first_paragraph(schema),
                    "reads": allowed_values(reads) if reads else "",
                }
            )
    return pd.DataFrame(rows).set_index("estimator")


def describe(estimator: str) -> pd.DataFrame:
    """One row per key of an estimator of `estimators()`: its section, allowed values, default, meaning with the normalisation.

    Raises SpecError when there is no such estimator.
    """
    name, _, own = estimator.partition(".")
    found = {family.name: {**family.data, **family.estimators} for family in families()}.get(name, {})
    if own not in found:
        raise SpecError([f"{estimator}: no such estimator; allowed: a name that estimators() lists"])
    schema = json_schema(found[own])
    rows = []
    for section in SECTIONS:
        node = schema["properties"][section]
        rows += [{"section": section, **row} for row in keys(node, scanned=section == "grid")]
    return pd.DataFrame(rows, columns=["section", "key", "allowed", "default", "meaning"]).set_index("key")


def keys(node: dict, prefix: str = "", *, scanned: bool = False) -> Iterator[dict[str, str]]:
    """`key`, `allowed`, `default` and `meaning` of each key of a mapping, and of each member of a union.

    `node` is its JSON Schema, `prefix` stands before each key, and the values of a grid are axes (`scanned`).
    """
    for key, item in node.get("properties", {}).items():
        yield {
            "key": f"{prefix}{key}",
            "allowed": allowed_values(item["items"] if scanned else item),
            "default": default(item, key in node.get("required", [])),
            "meaning": meaning(item),
        }
        for kind, member in item.get("discriminator", {}).get("mapping", {}).items():
            own = {name: value for name, value in member["properties"].items() if name != "kind"}
            for row in keys({**member, "properties": own}, f"{prefix}{key}."):
                yield {**row, "key": f"{row['key']} ({kind})"}


def allowed_values(node: dict) -> str:
    """The allowed values of a `node` of a JSON Schema, in words."""
    if "discriminator" in node:
        key = node["discriminator"]["propertyName"]
        return f"a mapping with {key} one of {', '.join(node['discriminator']['mapping'])}"
    if "anyOf" in node:
        return " or ".join(allowed_values(item) for item in node["anyOf"])
    text = in_words({key: item for key, item in node.items() if key != "description"})
    return f"{text}, each {allowed_values(node['items'])}" if node.get("type") == "array" else text


def meaning(node: dict) -> str:
    """The description of a `node` of a JSON Schema, else that of its items or of its class."""
    return node.get("description") or node.get("items", {}).get("description", "")


def default(node: dict, required: bool) -> str:
    """The default of a `node` as JSON, "required" where it is `required`, and empty where nothing is the default."""
    if required:
        return "required"
    value = node.get("default")
    if isinstance(value, dict) and all(isinstance(item, dict) for item in value.values()):
        # A section of sections, all of them with their defaults.
        value = {}
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _first_paragraph(schema: dict) -> str:
    return " ".join(schema.get("description", "").split("\n\n")[0].split())
