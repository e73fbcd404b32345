"""The estimators of all families, and the keys of each, as tables."""

import json
import re
from collections.abc import Iterator
from importlib import resources

import pandas as pd

from attention_limits.interface.whole import Listing
from attention_limits.pipeline.base import provenance
from attention_limits.pipeline.base.errors import SpecError, allowed_names, did_you_mean, short, wrong_name
from attention_limits.pipeline.base.registry import registry
from attention_limits.pipeline.experiments.experiment import Family, load_family
from attention_limits.pipeline.experiments.messages import describe as in_words
from attention_limits.pipeline.experiments.messages import json_schema

SECTIONS = ("model", "grid", "solver")
# What is left of a formula after its squares have become signs: no reader of an axis should decode it.
_FORMULA = re.compile(r"[\^_=|*{}~@]|->|!=|sqrt|\btr\b|\bsum_|^(as|missing) ")
_POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def families() -> list[Family]:
    """All families of the package, by name."""
    return [load_family(path.parent.name) for path in sorted(provenance.SOURCE.glob("*/specs.py"))]


def unit(meaning: str) -> str:
    """The first clause of a `meaning` (normalisation, definition) as a line below the label of an axis; empty for a formula.

    `n / d^2` is written with a sign for the square. The full text stands in the cube, in tables and beside the picture.
    """
    clause = re.split("[;:]", meaning)[0]
    clause = re.sub(r"\^(\d)", lambda found: found[1].translate(_POWERS), clause)
    return "" if _FORMULA.search(clause) else clause.strip()


def estimators() -> pd.DataFrame:
    """One row per estimator: the name for `compute`, its rule in the workflow, what it computes, the data that it can read.

    Examples
    --------
    >>> import attention_limits as al
    >>> known = al.estimators()
    >>> known.loc["sequence_multi_index.gamp", ["rule", "reads"]].tolist()
    ['smi_gamp', 'exactly "gaussian_sequences"']
    >>> print(known)
    attention_indexed.state_evolution: ...
    """
    rows = []
    for family in families():
        for name, cls in family.estimators.items():
            schema = json_schema(cls)
            reads = schema["properties"].get("reads")
            rows.append(
                {
                    "estimator": f"{family.name}.{name}",
                    "rule": family.rule(name),
                    "computes": first_paragraph(schema),
                    "reads": allowed_values(reads) if reads else "",
                }
            )
    lines = [f"{row['estimator']}: {row['computes']}" for row in rows]
    return _printing(pd.DataFrame(rows).set_index("estimator"), lines)


def describe(estimator: str) -> pd.DataFrame:
    """One row per key and per variable of an estimator of `estimators()`, or of data that an estimator reads.

    A key has its section, allowed values, default and meaning with the normalisation. A variable of the cube (section
    `variable`) has its further dimensions, its meaning with symbol and normalisation, and its equation. Raises SpecError when
    there is no such estimator.

    Examples
    --------
    >>> import attention_limits as al
    >>> keys = al.describe("attention_indexed.state_evolution")
    >>> keys.loc["tokens", ["allowed", "default"]].iloc[0].tolist()
    ['a whole number ≥ 1 and ≤ 64', 'required']
    >>> print(keys)
    model.tokens: a whole number ≥ 1 and ≤ 64, required. Number of tokens M of a sequence...
    """
    family, own = family_and_name(estimator)
    schema = json_schema({**family.data, **family.estimators}[own])
    rows, lines = [], []
    for section in SECTIONS:
        for row in keys(schema["properties"][section], scanned=section == "grid"):
            rows.append({"section": section, **row, "dimensions": "", "equation": ""})
            value = f", default {row['default']}" if row["default"] else ""
            value = ", required" if row["default"] == "required" else value
            lines.append(f"{section}.{row['key']}: {row['allowed']}{value}. {row['meaning']}")
    known = registry(family.name, own).variables
    for name in variables().get(estimator, []):
        it, dims = known[name], ", ".join(known[name].dims)
        meaning = "; ".join(filter(None, (it.long_name, it.symbol, it.normalisation)))
        row = {"section": "variable", "key": name, "meaning": meaning, "dimensions": dims, "equation": it.source}
        rows.append({**row, "allowed": "", "default": ""})
        lines.append(f"variable {name}{f' ({dims})' if dims else ''}: {meaning}; {it.source}")
    columns = ["section", "key", "allowed", "default", "meaning", "dimensions", "equation"]
    return _printing(pd.DataFrame(rows, columns=columns).set_index("key"), lines)


def variables() -> dict[str, list[str]]:
    """The names of the variables of each estimator."""
    return json.loads(
        resources.files("attention_limits.interface").joinpath("variables.json").read_text(encoding="utf-8")
    )


def family_and_name(estimator: str) -> tuple[Family, str]:
    """The family and the name of an estimator, or of data. Raises SpecError when there is no such estimator."""
    found = {family.name: family for family in families()}
    name, _, own = estimator.partition(".") if isinstance(estimator, str) else ("", "", "")
    if name not in found:
        every = [f"{family.name}.{item}" for family in found.values() for item in family.estimators]
        more = f"{', '.join(f'{name}.…' for name in found)}{did_you_mean(estimator, every)}"
        raise SpecError([f"{wrong_name(estimator)}: no such family; allowed: {more}"])
    names = {**found[name].estimators, **found[name].data}
    if own not in names:
        raise SpecError(
            [f"{short(estimator)}: no such estimator; {allowed_names(estimator, [f'{name}.{item}' for item in names])}"]
        )
    return found[name], own


def _printing(table: pd.DataFrame, lines: list[str]) -> pd.DataFrame:
    made = Listing(table)
    made.attrs["lines"] = lines
    return made


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


def first_paragraph(schema: dict) -> str:
    """The first paragraph of the docstring of the class with this JSON Schema (`schema`), on one line."""
    return " ".join(schema.get("description", "").split("\n\n")[0].split())
