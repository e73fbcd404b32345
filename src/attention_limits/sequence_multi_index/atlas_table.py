"""The thresholds of many cubes as one table, and the command that writes it.

The thresholds are those of Troiani et al. 2025 (arXiv:2502.00901); see `staircase` and `recovery`.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from attention_limits.pipeline.cubes import read
from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.files import replacing
from attention_limits.pipeline.readings import specifications
from attention_limits.sequence_multi_index.readings import atlas_threshold, recovery_and_error

# Parameters of a model in the table, in this order.
PARAMETERS = ("depth", "tokens", "rank", "heads", "skip", "beta", "activation", "ratio", "noise", "readout")


def atlas_table(cubes: dict) -> pd.DataFrame:
    """One row for each model and quantity: weak recovery of a layer, or exact recovery of all.

    Parameters
    ----------
    cubes : dict of Dataset
        Cubes with the estimators `threshold_atlas` or `exact_recovery`, by name.

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
        found = [estimator for estimator in ("threshold_atlas", "exact_recovery") if estimator in parts]
        if not found:
            raise SpecError([f"{name}: no estimator threshold_atlas or exact_recovery; it has {', '.join(parts)}"])
        for estimator in found:
            part = cube.sel(estimator=estimator) if "estimator" in cube.dims else cube
            make = _weak if estimator == "threshold_atlas" else _exact
            for at, point in _points(part, parts[estimator]["grid"]):
                model = {**parts[estimator]["model"], **at}
                kept = {key: _plain(model[key]) for key in PARAMETERS if key in model}
                for row in make(point):
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


def atlas_command(cubes: list[str], output: str) -> None:
    """Write thresholds.csv and thresholds.html of the files `cubes` into the folder `output`, which is made if it is missing.

    Raises SpecError if a file is no cube, or has no thresholds.
    """
    paths = [Path(path) for path in cubes]
    frame = atlas_table({path.stem: read(path, "attention-limits merge") for path in paths})
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / "thresholds.csv") as temporary:
        temporary.write_text(csv_text(frame), encoding="utf-8")
    with replacing(folder / "thresholds.html") as temporary:
        temporary.write_text(_page(frame), encoding="utf-8")
    print(f"{len(frame)} thresholds in {folder / 'thresholds.csv'} and {folder / 'thresholds.html'}")


def _page(frame):
    table = frame.to_html(index=False, na_rep="", float_format="{:.4g}".format, border=0)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Thresholds of learning</title>\n'
        "<style>body { font-family: sans-serif } td, th { padding: 0.15em 0.7em; text-align: right }\n"
        "tr:nth-child(even) { background: #f2f2f2 }</style></head><body>\n<h1>Thresholds of learning</h1>\n"
        "<p>alpha = n / D, samples per dimension; error: one standard error. Exact recovery: middle of the bracket.</p>\n"
        f"{table}\n</body></html>\n"
    )
