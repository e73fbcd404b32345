"""The table of docs/atlas.md, from docs/atlas.csv, and the CSV itself, from the cubes of the figure smi_atlas."""

import io

import pandas as pd

from attention_limits.pipeline.audit import number_text
from attention_limits.pipeline.cubes import read
from attention_limits.sequence_multi_index.atlas_table import atlas_table, csv_text

FIGURE = "smi_atlas"
# Columns of the page with their columns of the CSV.
COLUMNS = {
    "experiment": "experiment", "link": "link", "L": "depth", "M": "tokens", "H": "heads", "c": "skip", "β": "beta",
    "activation": "activation",
}  # fmt: skip
QUANTITIES = {
    **{f"layer {layer}": f"weak recovery of layer {layer}" for layer in range(1, 6)},
    "exact": "exact recovery",
}


def csv(project, folder):
    """The CSV of the cubes in a folder of results; None where one of them is missing."""
    figure = project.figures[FIGURE]
    paths = {name: folder / "cubes" / figure.family / f"{name}.nc" for name in sorted(figure.cubes)}
    if not all(path.is_file() for path in paths.values()):
        return None
    return csv_text(atlas_table({name: read(path) for name, path in paths.items()}))


def table(text):
    """Markdown with one line for each model and one column for each quantity, from the CSV."""
    frame = pd.read_csv(io.StringIO(text), keep_default_na=False, dtype=str)
    lines = [f"| {' | '.join((*COLUMNS, *QUANTITIES))} |", "|---" * (len(COLUMNS) + len(QUANTITIES)) + "|"]
    for model, rows in frame.groupby(list(COLUMNS.values()), sort=False):
        found = {row.quantity: number_text(float(row.alpha), float(row.error or 0)) for row in rows.itertuples()}
        values = [found.get(quantity, "") for quantity in QUANTITIES.values()]
        lines.append(f"| {' | '.join((*model, *values))} |")
    return "\n".join(lines) + "\n"
