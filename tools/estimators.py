"""Write docs/estimators/<rule>.md, one page for each estimator: `python tools/estimators.py`, or `make schemas`.

A page holds keys, variables with their equations, and an example, the smallest smoke run of the estimator. Only a run shows the
variables of an estimator: the program runs the examples of new estimators first, with `--run` all examples, and writes the
list of variables into the package.
"""

import functools
import json
import sys

from attention_limits.interface.describe import families, variables
from attention_limits.pipeline.base.files import write_text
from attention_limits.pipeline.base.registry import registry
from attention_limits.pipeline.experiments.estimator import Estimator
from attention_limits.pipeline.experiments.messages import json_schema
from attention_limits.pipeline.experiments.project import load_project
from schemas import HEAD, ROOT, SECTIONS, cells, rows

# The longest line of code, as in pyproject.toml.
WIDTH = 120
VARIABLES = ROOT / "src" / "attention_limits" / "interface" / "variables.json"


def computed(known: dict[str, list[str]]) -> dict[str, list[str]]:
    """The variables of each estimator, from its example where `known` does not hold it."""
    found = {}
    for name, estimator in sorted(smallest().items()):
        if name not in known:
            names: dict = {}
            exec(example(estimator), names)
        found[name] = known[name] if name in known else sorted(map(str, names["cube"].data_vars))
    return found


@functools.cache
def smallest() -> dict[str, Estimator]:
    """Of each estimator the smoke run with the fewest points."""
    found: dict[str, Estimator] = {}
    loaded = load_project(ROOT, {"scale": "smoke", "families": "all"})
    for experiments in loaded.experiments.values():
        for experiment in experiments.values():
            for estimator in experiment.estimators.values():
                name = f"{estimator.family}.{estimator.name}"
                if name not in found or _points(estimator) < _points(found[name]):
                    found[name] = estimator
    return found


def _points(estimator):
    return sum(chunk.size for chunk in estimator.chunks)


def example(estimator: Estimator) -> str:
    """The call of `compute` that computes an estimator; keys at their defaults are left out."""
    given = {
        "model": _beyond_defaults(estimator.specification, "model", estimator.model),
        "grid": estimator.grid,
        "solver": _beyond_defaults(estimator.specification, "solver", estimator.solver.plain()),
        "replicas": {} if estimator.replicas == 1 else estimator.replicas,
    }
    if estimator.reads is not None:
        # The data read keys of the same model.
        given["model"] = {
            **_beyond_defaults(estimator.reads.specification, "model", estimator.reads.model),
            **given["model"],
        }
        given["data"] = {
            estimator.reads.name: _beyond_defaults(
                estimator.reads.specification, "solver", estimator.reads.solver.plain()
            )
        }
    lines = ["import attention_limits as al", "", "cube = al.compute(", f'    "{estimator.family}.{estimator.name}",']
    for key, value in given.items():
        if value != {}:
            lines.append(f"    {key}={_written(value, 4, len(key) + 6)},")
    return "\n".join([*lines, ")"])


def _written(value, indent, used):
    """A value as ruff formats it, in a line that is indented by `indent` and has `used` characters beside the value."""
    text = repr(value).replace("'", '"')
    if len(text) + used <= WIDTH or not isinstance(value, dict | list):
        return text
    if isinstance(value, dict):
        items = [f'"{key}": {_written(item, indent + 4, indent + len(key) + 9)}' for key, item in value.items()]
    else:
        items = [_written(item, indent + 4, indent + 5) for item in value]
    inner = "".join(f"{' ' * (indent + 4)}{item},\n" for item in items)
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{start}\n{inner}{' ' * indent}{end}"


def _beyond_defaults(cls, section, values):
    known = cls.model_fields[section].annotation.model_fields
    return {key: value for key, value in values.items() if value != known[key].default}


def page(name: str, estimator: Estimator, rule: str, variables: list[str]) -> str:
    """The page of one estimator."""
    schema, known = json_schema(estimator.specification), registry(estimator.family, estimator.name)
    paragraphs = [" ".join(text.split()) for text in schema.get("description", "").split("\n\n")]
    table = []
    for section in SECTIONS:
        table += rows(schema["properties"][section], f"{section}.", scanned=section == "grid")
    lines = [
        f"# `{name}`", "", *("\n\n".join(paragraphs).split("\n")), "",
        f"The rule of the workflow is `{rule}`, the module `{estimator.module}`. Source: {known.source}.", "",
        "## Example", "",
        "The sizes are small, so that the example takes seconds. Paths are relative to the repository.", "",
        "```python", example(estimator), "```", "",
        "## Keys", "", *(HEAD if table else []), *table, *_reads(estimator), "",
        "## Variables", "",
        "The first dimensions are those of the grid and `replica`. [Notation](../notation.md) defines the symbols.", "",
        "| Variable | Further dimensions | Meaning | Symbol | Normalisation | Equation |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for variable in variables:
        it = known.variables[variable]
        dims = ", ".join(f"`{dim}`" for dim in it.dims)
        lines.append(cells(f"`{variable}`", dims, it.long_name, it.symbol, it.normalisation, it.source))
    return "\n".join(lines) + "\n"


def _reads(estimator):
    """Where the keys of the data stand, for an estimator that reads data."""
    if estimator.reads is None:
        return []
    kind = estimator.reads.name
    return ["", f"It reads [`{kind}`](../keys/{estimator.family}.md#{kind}): `model` and `data` hold their keys too."]


def pages() -> dict[str, str]:
    """The text of every page of an estimator, by its path below the root."""
    estimators, listed, found = smallest(), variables(), {}
    for family in families():
        for own in family.estimators:
            name, rule = f"{family.name}.{own}", family.rule(own)
            if name in estimators:
                found[f"docs/estimators/{rule}.md"] = page(name, estimators[name], rule, listed.get(name, []))
    return found


def main() -> None:
    """Write the list of variables and the pages."""
    found = computed({} if "--run" in sys.argv else variables())
    write_text(VARIABLES, json.dumps(found, indent=1) + "\n")
    for path, text in pages().items():
        write_text(ROOT / path, text)
        print(f"{path}: written")


if __name__ == "__main__":
    main()
