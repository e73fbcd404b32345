"""The thresholds of many cubes as one table, with one row per model for readers, and the command that writes both.

The thresholds are those of Troiani et al. 2025 (arXiv:2502.00901); see `staircase` and `recovery`.
"""

import io
from pathlib import Path

import numpy as np
import pandas as pd

from attention_limits.numerics.statistics import mean_and_error
from attention_limits.pipeline.audit import number_text
from attention_limits.pipeline.cubes import read
from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.files import replacing
from attention_limits.pipeline.readings import specifications
from attention_limits.sequence_multi_index.readings import atlas_threshold, growth_at_threshold, recovery_and_error

# Parameters of a model in the table, in this order.
PARAMETERS = ("depth", "tokens", "rank", "heads", "skip", "beta", "activation", "ratio", "noise", "readout")
# A layer is next after the last one where the growth of all others is below one by so many standard errors.
SEPARATED = 3.0
SYMBOLS = {"depth": "L", "tokens": "M", "rank": "p", "heads": "H", "skip": "c", "beta": "β", "ratio": "κ", "noise": "Δ"}


def atlas_table(cubes: dict) -> pd.DataFrame:
    """One row for each model and quantity: weak recovery of a layer, or exact recovery of all.

    Parameters
    ----------
    cubes : dict of Dataset
        Cubes with the estimators `threshold_atlas`, `exact_recovery` or `shallow_growth`, by name.

    Returns
    -------
    DataFrame
        `experiment`, `link`, its parameters, `quantity`, `alpha` and `error` (samples per dimension n / D, mean over replicas and
        standard error; of exact recovery the middle of the bracket, and half its width included), `replicas`, `learned` (number
        of replicas that learn the layer, at least half of them; the others end before), `resolved` (smallest fraction of outputs
        with a resolved channel) and `converged` (fraction of replicas).

    Raises
    ------
    SpecError
        If a cube has none of these estimators.
    """
    rows = []
    for name, cube in cubes.items():
        parts = specifications(cube)
        found = [estimator for estimator in MAKERS if estimator in parts]
        if not found:
            raise SpecError([f"{name}: no estimator {' or '.join(MAKERS)}; it has {', '.join(parts)}"])
        for estimator in found:
            part = cube.sel(estimator=estimator) if "estimator" in cube.dims else cube
            grid = [key for key in parts[estimator]["grid"] if key != "held"]
            for at, point in _points(part, grid):
                model = {**parts[estimator]["model"], **at}
                kept = {key: _plain(model[key]) for key in PARAMETERS if key in model}
                for row in MAKERS[estimator](point):
                    rows.append({"experiment": name, "link": model["link"], **kept, **row})
    frame = pd.DataFrame(rows)
    order = ["experiment", "link", *(key for key in PARAMETERS if key in frame), "quantity"]
    return frame[[*order, *(key for key in frame if key not in order)]]


def csv_text(frame: pd.DataFrame) -> str:
    """The table as CSV, numbers with six digits.

    Parameters
    ----------
    frame : DataFrame
        From `atlas_table`.

    Returns
    -------
    str
    """
    return frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def _plain(value):
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _points(part, grid):
    """(values by key, dataset of the replicas) at every point of a grid."""
    stacked = part.stack(point=list(grid))
    for index in range(stacked.sizes["point"]):
        point = stacked.isel(point=index)
        yield {key: float(point[key]) for key in grid}, point


def _weak(point):
    """A row for each layer that at least half of the replicas learn."""
    replicas = int(np.isfinite(point.step_resolved).any("step").sum())
    for layer in point.layer.values:
        if not np.any(np.isfinite(point.learnt.sel(layer=layer))):
            continue
        mean, error = atlas_threshold(point, layer)
        if not np.isfinite(mean):
            continue
        learns = point.learnt.sel(layer=layer) >= 0.5 * point.learnt.max("layer")
        converged = point.step_converged.where(learns).max("step")
        yield {
            "quantity": f"weak recovery of layer {layer}", "alpha": float(mean), "error": float(error), "replicas": replicas,
            "learned": int(learns.any("step").sum()),
            "resolved": float(point.step_resolved.where(learns).min()), "converged": float(converged.mean()),
        }  # fmt: skip


def _exact(point):
    """The row of exact recovery, unless the point is missing."""
    above = point.recovery_above.values
    if not np.any(np.isfinite(point.recovery_resolved)):
        return
    middle, error = recovery_and_error(point)
    yield {
        "quantity": "exact recovery", "alpha": float(middle), "error": float(error),
        "replicas": int(np.isfinite(above).sum()), "learned": int(np.isfinite(above).sum()), "resolved": np.nan,
        "converged": float(point.recovery_resolved.mean()),
    }  # fmt: skip


def _next(point):
    """The row of the layer that begins to grow first while the last one alone is learned, if all replicas separate it."""
    found = {int(layer): growth_at_threshold(point, layer) for layer in point.layer.values}
    starts = {layer: alpha.values for layer, (alpha, _) in found.items() if np.all(np.isfinite(alpha))}
    if not starts:
        return
    first = min(starts, key=lambda layer: starts[layer].mean())
    others = found[first][1].drop_sel(layer=first).transpose("replica", "layer").values
    mean, error = mean_and_error(others[:, np.isfinite(others).any(axis=0)], axis=0)
    if np.any(mean + SEPARATED * error > 1.0):
        return
    alpha, spread = mean_and_error(starts[first])
    yield {
        "quantity": f"weak recovery of layer {first}", "alpha": float(alpha), "error": float(spread),
        "replicas": len(starts[first]), "learned": len(starts[first]), "resolved": float(point.resolved.min()),
        "converged": 1.0,
    }  # fmt: skip


# The rows of each estimator.
MAKERS = {"threshold_atlas": _weak, "exact_recovery": _exact, "shallow_growth": _next}


def atlas_command(cubes: list[str], output: str) -> None:
    """Write thresholds.csv and thresholds.html of the files `cubes` into the folder `output`, which is made if it is missing.

    Raises SpecError if a file is no cube, or has no thresholds.
    """
    paths = [Path(path) for path in cubes]
    frame = atlas_table({path.stem: read(path, "attention-limits merge") for path in paths})
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    text = csv_text(frame)
    with replacing(folder / "thresholds.csv") as temporary:
        temporary.write_text(text, encoding="utf-8")
    with replacing(folder / "thresholds.html") as temporary:
        temporary.write_text(page(text), encoding="utf-8")
    print(f"{len(frame)} thresholds in {folder / 'thresholds.csv'} and {folder / 'thresholds.html'}")


def by_model(text: str) -> pd.DataFrame:
    """One row for each model, with one column for each quantity, as text.

    Where several experiments compute a threshold, the one with the most replicas counts, of equal ones that with the smallest
    error.

    Parameters
    ----------
    text : str
        The CSV, from `csv_text`.

    Returns
    -------
    DataFrame
        `link`, the parameters of the model that any row has (L: layers, M: tokens, H: heads, c: skip strength, β: inverse
        temperature), one column for each layer and `exact`. Parentheses contain one standard error in units of the last digits.
    """
    frame = pd.read_csv(io.StringIO(text))
    models = [key for key in ("link", *PARAMETERS) if key in frame and frame[key].notna().any()]
    best = frame.sort_values(["replicas", "error"], ascending=[False, True], kind="stable")
    best = best.drop_duplicates([*models, "quantity"])
    rows = []
    for model, group in best.groupby(models, dropna=False):
        found = {_short(row.quantity): number_text(row.alpha, np.nan_to_num(row.error)) for row in group.itertuples()}
        rows.append(
            {**{SYMBOLS.get(key, key): _text(value) for key, value in zip(models, model, strict=True)}, **found}
        )
    table = pd.DataFrame(rows)
    quantities = sorted({_short(quantity) for quantity in best.quantity}, key=lambda name: (name == "exact", name))
    return table[[*(SYMBOLS.get(key, key) for key in models), *quantities]].fillna("")


def page(text: str) -> str:
    """A page for a browser with the table `by_model`.

    Parameters
    ----------
    text : str
        The CSV, from `csv_text`.

    Returns
    -------
    str
    """
    table = by_model(text).to_html(index=False, border=0)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Thresholds of learning</title>\n'
        "<style>body { font-family: sans-serif } td, th { padding: 0.15em 0.7em; text-align: right }\n"
        "tr:nth-child(even) { background: #f2f2f2 }</style></head><body>\n<h1>Thresholds of learning</h1>\n"
        "<p>Layer l: number of samples per dimension, n / D, from which on the state evolution learns this layer. Exact: from\n"
        "which on it recovers all weights exactly (middle of a bracket). Parentheses: one standard error in units of the last\n"
        "digits. L: layers, M: tokens, H: heads, c: skip strength, β: inverse temperature.</p>\n"
        f"{table}\n</body></html>\n"
    )


def _short(quantity):
    return "exact" if quantity == "exact recovery" else quantity.removeprefix("weak recovery of ")


def _text(value):
    if isinstance(value, str):
        return value
    return "" if pd.isna(value) else f"{value:g}"
