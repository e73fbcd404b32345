"""The command that compares published numbers with the cubes: audit."""

import json
from pathlib import Path

from attention_limits.pipeline.audit import compare, counts, full_table, load_published
from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.files import replacing
from attention_limits.pipeline.project import load_project


def audit_command(
    project: Path, families: list[str], output: Path, scale: str, seed: int, results: str, settings: dict
) -> None:
    """Compare published numbers with ours; write a table, and the same as JSON. A number without its cubes is "not computed"."""
    if output.suffix != ".md":
        raise SpecError([f"--output: {output}: must end in .md"])
    config = {"scale": scale, "seed": seed, "results": results, "set": settings, "families": families or "all"}
    loaded = load_project(project, config)

    from attention_limits.pipeline.cubes import read, remake

    rows = []
    for entry in load_published(project, loaded.experiments):
        paths = [Path(loaded.cube_path(entry.family, name)) for name in entry.cubes]
        rows.append(compare(entry, {path.stem: read(path, remake(path)) for path in paths if path.exists()}))
    data = json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
    for path, text in ((output, full_table(rows)), (output.with_suffix(".json"), data)):
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    print(f"{output}: {counts(rows)}")
