"""The thresholds of many cubes as one table, with one row per model for readers, and the command that writes both.

The thresholds are those of Troiani et al. 2025 (arXiv:2502.00901); see `staircase` and `recovery`.
"""

import io
from pathlib import Path

import numpy as np
import pandas as pd

from attention_limits.pipeline.audit import number_text
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.base.files import write_text
from attention_limits.pipeline.cubes.reader import read
from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.sequence_multi_index.readings import (
    branch_of_layer,
    growth_factors_at_threshold,
    growth_threshold,
    layer_threshold_and_error,
    recovery_and_error,
    steps_on_branch,
)

# Parameters of a model in the table, in this order.
PARAMETERS = ("depth", "tokens", "rank", "heads", "skip", "beta", "activation", "ratio", "noise", "readout")
# A layer is next after the last one where the growth of all others is below one by so many standard errors.
SEPARATED = 3.0
# The branch of a threshold.
BRANCH = ("known", "together")
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
        `experiment`, `link`, its parameters, `quantity`, `known` (layers that are known on the branch of the threshold),
        `together` (layers that the nodes do not separate from this one), `alpha` and `error` (samples per dimension n / D, mean
        over replicas and standard error, the error of few nodes included; of exact recovery the middle of the bracket, and half
        its width included), `replicas`, `learned` (number of replicas that learn the layer on this branch, at least half of
        them), `resolved` (smallest fraction of outputs with a resolved channel) and `converged` (fraction of replicas).

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
    """A row for each layer that at least half of the replicas learn on one branch."""
    replicas = int(np.isfinite(point.step_resolved).any("step").sum())
    for layer in point.layer.values:
        mean, error = layer_threshold_and_error(point, layer)
        if not np.isfinite(mean):
            continue
        used = steps_on_branch(point, layer)
        branch = branch_of_layer(point, layer)
        yield {
            "quantity": f"weak recovery of layer {layer}", **{key: _layers(branch[key]) for key in BRANCH}, "alpha": float(mean),
            "error": float(error), "replicas": replicas, "learned": int(used.any("step").sum()),
            "resolved": float(point.step_resolved.where(used).min()),
            "converged": float(point.step_converged.where(used).max("step").mean()),
        }  # fmt: skip


def _layers(chosen):
    return " ".join(str(layer) for layer in chosen.layer.values[chosen.values])


def _exact(point):
    """The row of exact recovery, unless the point is missing."""
    above = point.recovery_above.values
    if not np.any(np.isfinite(point.recovery_converged)):
        return
    middle, error = recovery_and_error(point)
    yield {
        "quantity": "exact recovery", **dict.fromkeys(BRANCH, ""), "alpha": float(middle), "error": float(error),
        "replicas": int(np.isfinite(above).sum()), "learned": int(np.isfinite(above).sum()), "resolved": np.nan,
        "converged": float(point.recovery_converged.mean()),
    }  # fmt: skip


def _next(point):
    """The row of the layer that begins to grow first while the last one alone is learned, if the others are below one there."""
    last = int(np.isfinite(point.growth_factor).any("replica").sum()) + 1
    starts = {int(layer): growth_threshold(point, layer) for layer in point.layer.values}
    starts = {layer: values for layer, values in starts.items() if np.isfinite(values[0])}
    if not starts:
        return
    first = min(starts, key=lambda layer: starts[layer][0])
    mean, error = (values[np.arange(len(values)) != first - 1] for values in growth_factors_at_threshold(point, first))
    if np.any(mean + SEPARATED * error > 1.0):
        return
    alpha, error = starts[first]
    replicas = point.sizes["replica"]
    yield {
        "quantity": f"weak recovery of layer {first}", "known": f"{last}", "together": "", "alpha": float(alpha),
        "error": float(error), "replicas": replicas, "learned": replicas, "resolved": float(point.resolved.min()),
        "converged": 1.0,
    }  # fmt: skip


# The rows of each estimator.
MAKERS = {"threshold_atlas": _weak, "exact_recovery": _exact, "shallow_growth": _next}


def atlas_command(cubes: list[str], output: str) -> None:
    """Write thresholds.csv and thresholds.html of the files `cubes` into the folder `output`, which is made if it is missing.

    Raises SpecError if a file is no cube, or has no thresholds.
    """
    paths = [Path(path) for path in cubes]
    frame = atlas_table({path.stem: read(path, changed=True) for path in paths})
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    text = csv_text(frame)
    write_text(folder / "thresholds.csv", text)
    write_text(folder / "thresholds.html", page(text))
    print(f"{len(frame)} thresholds in {folder / 'thresholds.csv'} and {folder / 'thresholds.html'}")


def by_model(text: str) -> pd.DataFrame:
    """One row for each model, with one column for each quantity, as text.

    Where several experiments compute a threshold on one branch, the one with the most replicas counts, of equal ones that with
    the smallest error. A number of layers that the nodes do not separate counts only where no experiment separates them.

    Parameters
    ----------
    text : str
        The CSV, from `csv_text`.

    Returns
    -------
    DataFrame
        `link`, the parameters of the model that any row has (L: layers, M: tokens, H: heads, c: skip strength, β: inverse
        temperature), one column for each layer and `exact`. Parentheses contain one standard error in units of the last digits,
        brackets the layers that are known on the branch of the threshold, and the layers that the nodes do not separate.
    """
    frame = pd.read_csv(io.StringIO(text), dtype=dict.fromkeys(BRANCH, str))
    models = [key for key in ("link", *PARAMETERS) if key in frame and frame[key].notna().any()]
    frame[list(BRANCH)] = frame[list(BRANCH)].fillna("")
    best = frame.sort_values(["replicas", "error"], ascending=[False, True], kind="stable")
    best = best.drop_duplicates([*models, "quantity", *BRANCH])
    alone = best.groupby([*models, "quantity"], dropna=False).together.transform(lambda values: (values == "").any())
    best = best[~alone | (best.together == "")]
    rows = []
    for model, group in best.groupby(models, dropna=False):
        found = {}
        for row in group.itertuples():
            text = number_text(row.alpha, np.nan_to_num(row.error)) + _branch_text(row)
            name = _short(row.quantity)
            found[name] = f"{found[name]}; {text}" if name in found else text
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
        "<p>Layer l: number of samples per dimension, n / D, above which the state evolution learns this layer. Brackets: the\n"
        "layers that are known there; with: layers that the nodes do not separate. Exact: it recovers all weights above this\n"
        "number (middle of a bracket). Parentheses: one standard error in units of the last digits. L: layers, M: tokens,\n"
        "H: heads, c: skip strength, β: inverse temperature.</p>\n"
        f"{table}\n</body></html>\n"
    )


def _short(quantity):
    return "exact" if quantity == "exact recovery" else quantity.removeprefix("weak recovery of ")


def _branch_text(row):
    if not row.known and not row.together:
        return ""
    known = ", ".join(row.known.split()) or "none"
    return f" [{known} with {', '.join(row.together.split())}]" if row.together else f" [{known}]"


def _text(value):
    if isinstance(value, str):
        return value
    return "" if pd.isna(value) else f"{value:g}"
