"""Further values of a grid, where the curves of a cube bend.

The program chooses them from a finished cube and writes them into the experiment file. So the file lists all points, every
machine computes the same ones, and nothing is computed to read a specification.
"""

import re
from pathlib import Path

import numpy as np
from ruamel.yaml.nodes import MappingNode

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.base.errors import SpecError, allowed_names
from attention_limits.pipeline.experiments.yaml_reader import nodes

# The bend of a curve counts beyond this many standard errors of it.
NOISE = 2.0
# Weight of the width of an interval beside its bend: it decides where no curve bends.
FLAT = 0.1
# Significant digits of the width of an interval that a new value keeps.
DIGITS = 2


def further_values(x, mean, error, count: int, logarithmic: bool = False) -> list[float]:
    """New values beside the points at which a curve bends: onsets, jumps and the ends of a steep rise.

    At an inner point the bend b_j is the distance of curve j from the straight line through its two neighbours, beyond NOISE
    standard errors of it. The size of an interval is sqrt(FLAT^2 dx^2 + max_j b_j^2), with the larger bend of its two ends, in
    units of the whole range of the axis and of each curve. One value after the other goes to the interval with the largest
    size / k^2 of its k parts, because the distance of a smooth curve from straight lines falls like 1 / k^2. The values divide
    their interval evenly.

    Parameters
    ----------
    x : array (n,)
        At least two, increasing.
    mean, error : arrays (n, j)
        Curves and standard errors. A missing value has no bend, a missing error counts as zero.
    count : int
        Number of new values.
    logarithmic : bool
        Whether the axis is that of log x.
    """
    place = np.log(x) if logarithmic else np.asarray(x, dtype=float)
    bend = np.zeros((len(place), np.shape(mean)[1]))
    left = (place[2:] - place[1:-1])[:, None] / (place[2:] - place[:-2])[:, None]
    chord = left * mean[:-2] + (1.0 - left) * mean[2:]
    known = np.nan_to_num(error)
    noise = NOISE * np.sqrt(known[1:-1] ** 2 + (left * known[:-2]) ** 2 + ((1.0 - left) * known[2:]) ** 2)
    bend[1:-1] = np.maximum(np.nan_to_num(np.abs(mean[1:-1] - chord)) - noise, 0.0)
    whole = np.array(
        [np.ptp(curve[np.isfinite(curve)]) if np.isfinite(curve).any() else 0.0 for curve in np.transpose(mean)]
    )
    share = np.divide(bend, whole, out=np.zeros_like(bend), where=whole > 0).max(axis=1)
    size = np.hypot(FLAT * np.diff(place) / (place[-1] - place[0]), np.maximum(share[1:], share[:-1]))
    parts = np.ones(len(size), dtype=int)
    for _ in range(count):
        parts[np.argmax(size / parts**2)] += 1
    found = []
    for k, divided in enumerate(parts):
        inside = np.linspace(place[k], place[k + 1], divided + 1)[1:-1]
        values = np.exp(inside) if logarithmic else inside
        # Short decimals: the last digit is a hundredth of the distance of neighbours.
        digits = DIGITS - int(np.floor(np.log10((x[k + 1] - x[k]) / divided)))
        found += [round(float(value), digits) for value in values]
    return found


def curves_of(cube, estimator: str, variable: str, key: str):
    """Axis (n,), means over the replicas and standard errors (n, j) of a variable of a cube, at all points of the other keys.

    Raises SpecError when the cube has no such variable, axis or estimator, or fewer than two values of the axis.
    """
    if variable not in cube:
        raise SpecError([f"--of: {variable!r}: {allowed_names(variable, sorted(map(str, cube.data_vars)))}"])
    array = cube[variable]
    if "estimator" in array.dims:
        if estimator not in array.estimator.values:
            raise SpecError(
                [f"--estimator: {estimator!r} has no {variable}; {allowed_names(estimator, array.estimator.values)}"]
            )
        array = array.sel(estimator=estimator, drop=True)
    if key not in array.dims or "replica" not in array.dims:
        dims = ", ".join(str(dim) for dim in array.dims if dim != "replica")
        raise SpecError([f"--key: {key!r}: allowed for {variable}: {dims}"])
    array = array.astype(float).dropna(key, how="all").transpose(key, "replica", ...)
    if array.sizes[key] < 2:
        raise SpecError([f"--key: {key!r}: {variable} has {array.sizes[key]} values along it; at least two are needed"])
    mean, error = mean_and_error(array.values.reshape(*array.shape[:2], -1), axis=1)
    return array[key].values, mean, error


def refined_text(path: Path, estimator: str, key: str, more: list[float]) -> str:
    """The text of an experiment file with further values of an axis of an estimator; comments and layout stay.

    Raises SpecError when the file writes no such axis as a mapping in one line.
    """
    text = Path(path).read_text(encoding="utf-8")
    node = nodes(text)
    for name in ("estimators", estimator, "grid", key):
        found = {child.value: value for child, value in node.value} if isinstance(node, MappingNode) else {}
        if name not in found:
            raise SpecError([f"{path}: estimators.{estimator}.grid.{key}: the file does not write this axis"])
        node = found[name]
    if not (isinstance(node, MappingNode) and node.flow_style):
        raise SpecError([f"{path}: estimators.{estimator}.grid.{key}: write the axis as {{...}}"])
    written = text[node.start_mark.index : node.end_mark.index]
    lists = {child.value: value for child, value in node.value if child.value in ("values", "also")}
    name, kept = next(((name, [float(v.value) for v in item.value]) for name, item in lists.items()), ("also", []))
    values = ", ".join(f"{value:.12g}" for value in sorted({*kept, *more}))
    if kept:
        item = lists[name]
        start, stop = (mark.index - node.start_mark.index for mark in (item.start_mark, item.end_mark))
        changed = f"{written[:start]}[{values}]{written[stop:]}"
    else:
        changed = re.sub(r"\s*}$", f", also: [{values}]}}", written)
    return text[: node.start_mark.index] + changed + text[node.end_mark.index :]
