"""The tables of docs/atlas.md and docs/thresholds.html, from docs/atlas.csv, and the CSV itself, from the cubes of smi_atlas."""

from attention_limits.pipeline.cubes.reader import read
from attention_limits.sequence_multi_index.reports.threshold_table import atlas_table, by_model, csv_text

FIGURE = "smi_atlas"


def csv(project, folder):
    """The CSV of the cubes in a folder of results; None where one of them is missing."""
    figure = project.figures[FIGURE]
    paths = {name: folder / "cubes" / figure.family / f"{name}.nc" for name in sorted(figure.cubes)}
    if not all(path.is_file() for path in paths.values()):
        return None
    return csv_text(atlas_table({name: read(path) for name, path in paths.items()}))


def table(text):
    """Markdown with one line for each model and one column for each quantity, from the CSV."""
    found = by_model(text)
    lines = [f"| {' | '.join(found.columns)} |", "|---" * len(found.columns) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in found.itertuples(index=False, name=None)]
    return "\n".join(lines) + "\n"
