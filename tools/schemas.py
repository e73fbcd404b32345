"""Export every key of the configuration from the classes that validate it: `python tools/schemas.py`, or `make schemas`.

Writes config/schemas/*.json (JSON Schema, for the completion and the checks of an editor; ignored by git) and docs/keys/*.md
(tables of keys; a test compares them with the classes).
"""

import json
import re
from pathlib import Path

from attention_limits.interface.describe import (
    SECTIONS,
    allowed_values,
    default,
    families,
    first_paragraph,
    keys,
    meaning,
)
from attention_limits.pipeline.audit import Entry
from attention_limits.pipeline.base.files import write_text
from attention_limits.pipeline.experiments.experiment import File
from attention_limits.pipeline.experiments.figures import FigureEntry
from attention_limits.pipeline.experiments.messages import json_schema
from attention_limits.pipeline.experiments.project import Run
from attention_limits.pipeline.experiments.specification import Range, Resources, Specification, Values

ROOT = Path(__file__).parents[1]
# The keys of a section stand in full once; a section with at least so many keys refers to the first that has the same.
MANY = 4


# Schemas for editors.


def axis(node):
    """How a file writes the axis of a grid key: a range, a list of values, or the value of the model."""
    description = node["items"].get("description", "")
    return {
        "description": description,
        "anyOf": [json_schema(Range), {**closed({"values": node}), "required": ["values"]}, {"const": "model"}],
    }


def without_required(node):
    """The same keys, none of them required: those of an overlay."""
    if isinstance(node, dict):
        return {key: without_required(item) for key, item in node.items() if key != "required"}
    return [without_required(item) for item in node] if isinstance(node, list) else node


def for_editors(node):
    """A schema without discriminators: an editor needs only the alternatives."""
    if not isinstance(node, dict):
        return [for_editors(item) for item in node] if isinstance(node, list) else node
    plain = {key: for_editors(item) for key, item in node.items() if key != "discriminator"}
    return {"anyOf" if key == "oneOf" else key: item for key, item in plain.items()}


def part_schema(cls):
    """The schema of one estimator or one kind of data in a file, and the schemas of the keys of its model."""
    part = for_editors(json_schema(cls))
    model = part["properties"].pop("model")["properties"]
    grid = part["properties"]["grid"]
    grid["properties"] = {key: axis(item) for key, item in grid["properties"].items()}
    # The file has one model for all, and need not write a section that has nothing to say.
    filled = [key for key in ("grid", "solver") if part["properties"][key].get("required")]
    part["required"] = [*filled, *(key for key in part.get("required", []) if key == "reads")]
    return part, model


def editor_schema(family):
    """The JSON Schema of the experiment files of a family."""
    model = {"base": [{"type": "string", "description": "A model of models.yaml; the other keys replace its values."}]}
    file = json_schema(File)["properties"]
    keys = {}
    for section, classes in (("data", family.data), ("estimators", family.estimators)):
        members = {}
        for name, cls in classes.items():
            members[name], own = part_schema(cls)
            for key, item in own.items():
                # Estimators may allow different values of one key.
                model[key] = [*(other for other in model.get(key, []) if other != item), item]
        keys[section] = {"description": file[section]["description"], **closed(members)}
    models = closed({key: items[0] if len(items) == 1 else {"anyOf": items} for key, items in model.items()})
    overlay = closed({"model": models, **without_required(keys)})
    keys["model"] = {"description": file["model"]["description"], "anyOf": [{"type": "string"}, models]}
    plain = {key: for_editors(file[key]) for key in ("title", "description", "extra", "requires")}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Experiment of {family.name}",
        **closed({**plain, **keys, "scales": closed({"paper": overlay, "smoke": overlay})}),
        "required": ["title", "description", "estimators"],
    }


def closed(properties):
    """The schema of a mapping with these keys and no others."""
    return {"type": "object", "additionalProperties": False, "properties": properties}


# Tables for readers.


def cells(*texts):
    """One line of a table."""
    return "| " + " | ".join(" ".join(text.split()).replace("|", "&#124;") for text in texts) + " |"


def rows(node, prefix="", scanned=False):
    """One line of a table for each key of a mapping, and for the keys of each member of a union."""
    lines = []
    for row in keys(node, prefix, scanned=scanned):
        key, separator, kind = row["key"].partition(" (")
        default = row["default"] if row["default"] in ("", "required") else f"`{row['default']}`"
        allowed = re.sub(r"matching (\S+)", r"matching `\1`", row["allowed"])
        lines.append(cells(f"`{key}`{separator}{kind}", allowed, default, row["meaning"]))
    return lines


HEAD = ["| Key | Allowed | Default | Meaning |", "|---|---|---|---|"]


def mapping_page(title, *parts):
    """A page of tables, one for each pair of heading and class."""
    lines = [f"# {title}", ""]
    for heading, cls, text in parts:
        schema = json_schema(cls)
        lines += [f"## {heading}", "", text, "", *HEAD, *rows(schema), ""]
    return "\n".join(lines).rstrip() + "\n"


def part_lines(name, cls, written, link=""):
    """The section of a page about one estimator or one kind of data; `written` holds the sections of the page so far."""
    schema = json_schema(cls)
    lines = [f"### `{name}`", "", first_paragraph(schema) + link, ""]
    table = []
    for section in SECTIONS:
        own = rows(schema["properties"][section], f"{section}.", scanned=section == "grid")
        same = written.setdefault((section, tuple(own)), name)
        if same != name and len(own) >= MANY:
            table.append(cells(f"`{section}`", f"the keys of [`{same}`](#{same})", "", ""))
        else:
            table += own
    if "reads" in schema["properties"]:
        node = schema["properties"]["reads"]
        required = "reads" in schema.get("required", [])
        table.append(cells("`reads`", allowed_values(node), default(node, required), meaning(node)))
    return [*lines, *(HEAD if table else []), *table, ""]


def family_page(family):
    """The page of all keys of a family."""
    lines = [
        f"# Keys of `{family.name}`", "",
        f"Rules and figures of this family begin with `{family.prefix}_`. [Keys of all files](files.md) lists `replicas`, "
        "`chunk` and `resources`, which every estimator has. A key that `model` and `grid` share is either fixed or scanned.", "",
    ]  # fmt: skip
    written = {}
    for heading, classes in (("Data", family.data), ("Estimators", family.estimators)):
        lines += [f"## {heading}", ""] if classes else []
        for name, cls in classes.items():
            page = f" [Example and variables](../estimators/{family.rule(name)}.md)."
            lines += part_lines(name, cls, written, page if classes is family.estimators else "")
    return "\n".join(lines).rstrip() + "\n"


class Every(Specification):
    """The keys that every estimator has."""


def files_page():
    """The page of the keys that do not depend on the family."""
    common = json_schema(Every)
    own = {key: common["properties"][key] for key in ("replicas", "chunk")}
    resources = json_schema(Resources)
    shared = "\n".join([*HEAD, *rows({"properties": own}), *rows(resources, "resources.")])
    page = mapping_page(
        "Keys of all files",
        ("config/config.yaml", Run, "One run. `snakemake --config scale=paper seed=1` sets the same keys."),
        ("config/&lt;family&gt;/experiments/&lt;experiment&gt;.yaml", File, "One experiment, and one cube."),
        ("Axis of a grid, as a range", Range, "`alpha: {start: 0.1, stop: 2.0, num: 20}`"),
        ("Axis of a grid, as a list", Values, "`alpha: {values: [0.1, 0.5, 2.0]}`"),
        ("config/&lt;family&gt;/figures.yaml", FigureEntry, "Keys of each figure; the name of the figure stands above them."),
        ("config/&lt;family&gt;/published.yaml", Entry, "Keys of each entry of the list `numbers`."),
    )  # fmt: skip
    data = "The `chunk` of data has the key `replicas` alone; without it a file holds one replica of one grid value."
    return f"{page}\n## Every estimator and every kind of data\n\n{data}\n\n{shared}\n"


def catalog_page():
    """The page that the Snakemake workflow catalog shows: the keys of a run, and the estimators of an experiment."""
    lines = [
        "# Configuration", "",
        "[docs/configuration.md](../docs/configuration.md) explains the files of this folder; "
        "[docs/keys](../docs/keys/files.md) lists every key.", "",
        "## config.yaml", "", "Give the same keys by `snakemake --config scale=paper seed=1`.", "",
        *HEAD, *rows(json_schema(Run)), "",
        "## Estimators of the experiments", "",
        "The page of an estimator lists its keys, variables and an example.", "",
        "| Rule | Computes |", "|---|---|",
    ]  # fmt: skip
    for family in families():
        for name, cls in family.estimators.items():
            rule = family.rule(name)
            lines.append(cells(f"[`{rule}`](../docs/estimators/{rule}.md)", first_paragraph(json_schema(cls))))
    return "\n".join(lines) + "\n"


def pages():
    """The text of every page of keys, by its path below the root."""
    named = {f"docs/keys/{family.name}.md": family_page(family) for family in families()}
    return {"docs/keys/files.md": files_page(), "config/README.md": catalog_page(), **named}


def schemas():
    """Every schema, by its path below the root."""
    found = {f"config/schemas/{family.name}.json": editor_schema(family) for family in families()}
    figures = {"type": "object", "additionalProperties": json_schema(FigureEntry)}
    return found | {"config/schemas/config.json": json_schema(Run), "config/schemas/figures.json": figures}


def main():
    """Write schemas and pages."""
    texts = {path: json.dumps(schema, indent=1, ensure_ascii=False) + "\n" for path, schema in schemas().items()}
    for path, text in (texts | pages()).items():
        write_text(ROOT / path, text)
        print(f"{path}: written")


if __name__ == "__main__":
    main()
