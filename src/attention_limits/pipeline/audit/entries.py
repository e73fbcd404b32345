"""The published numbers of config/audit/<family>.yaml, read and checked."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from attention_limits.pipeline.audit.table import Published, reading
from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.schema import load_schema, problems
from attention_limits.pipeline.yaml_reader import read_yaml


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


def require_readings(entries: Iterable[Published]) -> None:
    """Raise SpecError with every number whose reading does not exist; this imports the readings."""
    wrong = [entry for entry in entries if reading(entry) is None]
    if wrong:
        raise SpecError(
            [
                f"{entry.quantity}: reading: {entry.reading!r}: no such function in attention_limits.readings.{entry.family}"
                for entry in wrong
            ]
        )
