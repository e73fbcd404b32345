"""Cubes as tidy tables: one row per point and replica, or per point with mean and error."""

import itertools
import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd
import xarray as xr

from attention_limits.interface.extras import extras
from attention_limits.interface.whole import Whole
from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.base.arguments import listed, require
from attention_limits.pipeline.base.errors import SpecError, allowed_names, wrong_name
from attention_limits.pipeline.base.files import replacing
from attention_limits.pipeline.cubes.readings import specifications

# A variable with more values per point (trajectory, map) would have too many columns to read.
MOST_COLUMNS = 64


def table(cube: xr.Dataset, variables: str | Iterable[str] | None = None, *, aggregate: bool = False) -> pd.DataFrame:
    """One row per estimator, grid value and replica; one column per variable, or per entry of a vector or matrix.

    Parameters
    ----------
    cube : Dataset
        A cube of `compute`, or of the workflow.
    variables : str or list of str, optional
        By default all that have at most 64 values per point; `left_out` in the attributes of the table names the others.
    aggregate : bool
        One row per grid value: mean over replicas, standard error (`_error`) and number of replicas (`_replicas`) of each column.
        A flag such as `converged` becomes the fraction of replicas.

    Returns
    -------
    DataFrame
        It prints whole. Rows without any number are dropped. `units` in its attributes
        maps each variable to symbol, normalisation and units.

    Raises
    ------
    SpecError
        If `cube` is no cube, or has no variable of a name.

    Examples
    --------
    >>> import attention_limits as al
    >>> model = {"channel": "linear", "tokens": 2, "ratio": 0.5}
    >>> cube = al.compute("attention_indexed.state_evolution", model, {"alpha": [0.1, 0.2]})
    >>> al.table(cube, "mmse")
       alpha  replica      mmse
    0    0.1        0  0.128131
    1    0.2        0  0.000000
    """
    require_cube(cube)
    variables = [] if variables is None else listed("variables", variables, "the name of a variable, or a list of them")
    require(isinstance(aggregate, bool), "aggregate", aggregate, "True or False")
    there = list(map(str, cube.data_vars))
    if unknown := [name for name in variables if not isinstance(name, str) or name not in there]:
        raise SpecError([f"{wrong_name(name)}: not in the cube; {allowed_names(name, there)}" for name in unknown])
    order = ["estimator", *grid_keys(cube), "replica"]
    chosen = variables or [str(name) for name in cube.data_vars if _width(cube[name], order) <= MOST_COLUMNS]
    index = [key for key in order if any(key in cube[name].dims for name in chosen)]
    columns = {}
    for name in chosen:
        for label, column in _columns(cube[name], index):
            columns[label] = column
    plain = xr.Dataset(columns)
    plain = plain.broadcast_like(xr.Dataset(coords={key: cube[key] for key in index}))
    numbers = [label for label in columns if plain[label].dtype.kind in "fiub"]
    # Of a single point that a user selected, no dimension is left.
    frame = plain.to_dataframe(dim_order=index) if index else plain.expand_dims(point=1).to_dataframe()
    frame = frame[list(columns)]
    frame = frame.dropna(how="all", subset=numbers) if numbers else frame
    frame = Whole(_aggregated(frame[numbers]) if aggregate else frame.reset_index(drop=not index))
    frame.attrs["units"] = {name: _unit(cube[name]) for name in chosen}
    frame.attrs["left_out"] = [str(name) for name in cube.data_vars if name not in chosen]
    return frame


def to_csv(frame: pd.DataFrame, header: bool = True) -> str:
    """A table of `table` (`frame`) as CSV.

    The `header` holds lines that begin with #, with symbol, normalisation and units of each variable, and the names of columns.
    """
    if not header:
        return frame.to_csv(index=False, header=False)
    lines = [f"# {name}: {text}" for name, text in frame.attrs["units"].items()]
    if frame.attrs["left_out"]:
        lines.append(f"# left out, more than {MOST_COLUMNS} values per point: {', '.join(frame.attrs['left_out'])}")
    return "\n".join([*lines, frame.to_csv(index=False)])


def write_parquet(frame: pd.DataFrame, path: Path) -> None:
    """Write a table of `table` (`frame`) as Parquet; the metadata of the file hold symbol, normalisation and units.

    `pandas.read_parquet(path).attrs["units"]` gives them back. Raises SpecError where pyarrow is missing.
    """
    with extras(), replacing(path) as temporary:
        import pyarrow  # noqa: F401

        frame.to_parquet(temporary, engine="pyarrow", index=False)


def require_cube(cube: xr.Dataset) -> None:
    """Raise SpecError unless `cube` is a Dataset with variables, whose attribute `spec`, if it has one, is a specification."""
    if not isinstance(cube, xr.Dataset) or not cube.data_vars:
        empty = " without variables" if isinstance(cube, xr.Dataset) else ""
        path = f"; write al.open({str(cube)!r})" if isinstance(cube, str | Path) else ""
        raise SpecError([f"cube: {type(cube).__name__}{empty}; allowed: a Dataset that compute or open returns{path}"])
    try:
        written = json.loads(cube.attrs.get("spec", "{}"))
    except (TypeError, ValueError):
        written = None
    require(
        isinstance(written, dict),
        "cube: its attribute spec",
        cube.attrs.get("spec"),
        "that of compute, a mapping in JSON",
    )


def grid_keys(cube: xr.Dataset) -> list[str]:
    """The grid keys of a cube: the dimensions of its variables before `replica`, and those of its specification in any order."""
    dims: dict[str, None] = {}
    sections = specifications(cube).values() if "spec" in cube.attrs else ()
    scanned = {key for section in sections for key in section["grid"]}
    for array in cube.data_vars.values():
        names = list(map(str, array.dims))
        before = names[: names.index("replica")] if "replica" in names else []
        dims |= dict.fromkeys(before + [name for name in names if name in scanned])
    return [name for name in dims if name != "estimator"]


def _width(array: xr.DataArray, index: list[str]) -> int:
    return math.prod(size for name, size in array.sizes.items() if name not in index)


def _columns(array: xr.DataArray, index: list[str]) -> Iterator[tuple[str, xr.DataArray]]:
    """Label and values of each entry of a variable; the label of an entry holds its coordinates."""
    own = [name for name in map(str, array.dims) if name not in index]
    for values in itertools.product(*(array[name].values.tolist() for name in own)):
        place = dict(zip(own, values, strict=True))
        entry = ", ".join(f"{key}={value}" for key, value in place.items())
        label = f"{array.name}[{entry}]" if own else str(array.name)
        # Coordinates that are no index, as of stacked dimensions, differ between the entries.
        yield label, array.sel(place).reset_coords(drop=True)


def _aggregated(frame: pd.DataFrame) -> pd.DataFrame:
    keys, rows = [name for name in frame.index.names if name != "replica"], []
    for point, group in frame.groupby(level=keys, sort=False) if keys else [((), frame)]:
        row = dict(zip(keys, point, strict=True))
        for name, values in group.items():
            mean, error = mean_and_error(values.to_numpy(float))
            row |= {name: float(mean), f"{name}_error": float(error), f"{name}_replicas": int(values.notna().sum())}
        rows.append(row)
    return pd.DataFrame(rows)


def _unit(array: xr.DataArray) -> str:
    texts = (array.attrs.get(key, "") for key in ("symbol", "long_name", "normalisation", "units"))
    return "; ".join(text for text in texts if text)
