"""The command that compares published numbers with the cubes: audit."""

import json
from pathlib import Path

from attention_limits.pipeline.audit.entries import load_published, require_readings
from attention_limits.pipeline.audit.table import compare
from attention_limits.pipeline.audit.text import counts, full_table, plain
from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.files import replacing
from attention_limits.pipeline.project import load_project


def audit_command(
    project: Path, families: list[str], output: Path, scale: str, seed: int, results: str, settings: dict
) -> None:
    """Compare published numbers with ours; write a table, and the same as JSON. A number without its cubes is "not computed"."""
    if output.suffix != ".md":
        raise SpecError([f"--output: {output}: must end in .md"])
    config = {
        "scale": scale,
        "seed": seed,
        "results": results,
        "set": settings,
        **({"families": families} if families else {}),
    }
    loaded = load_project(project, config)
    rows = []

    from attention_limits.pipeline.cubes import read_or_set_aside, remake

    entries = load_published(project, loaded.experiments)
    require_readings(entries)
    for entry in entries:
        paths = [Path(loaded.cube_path(entry.family, name)) for name in entry.cubes]
        there = {path.stem: read_or_set_aside(path, remake(path)) for path in paths if path.exists()}
        rows.append(compare(entry, there))
    for path, text in (
        (output, full_table(rows)),
        (output.with_suffix(".json"), json.dumps(plain(rows), indent=1, ensure_ascii=False) + "\n"),
    ):
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    print(f"{output}: {counts(rows)}")
