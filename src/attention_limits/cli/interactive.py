"""Commands of the shell without an experiment file: compute, thresholds, export, explore, estimators, describe."""

import itertools
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from attention_limits.pipeline.base.errors import SpecError, shown
from attention_limits.pipeline.base.files import replacing, require_place, write_text
from attention_limits.pipeline.base.user_files import number

if TYPE_CHECKING:
    import xarray as xr

_RANGE = re.compile(r"([^:,]+):([^:,]+):(\d+)")


def compute_command(
    estimator: str,
    parameters: dict,
    replicas: int,
    seed: int,
    workers: int,
    results: Path | None,
    data: dict | None,
    output: Path | None,
    csv: Path | None,
    plot: Path | None,
    y: str | None,
    color: str | None,
    aggregate: bool,
) -> None:
    """Compute one `estimator`; write the cube (`output`), a table (`csv`), a picture (`plot`), or print the table.

    `parameters` are keys of the model, the grid and the solver: `start:stop:num` and `first,second` are values of a grid key.
    `replicas`, `seed`, `workers`, `data` and `results` (there `folder`) are those of `compute`, `y` and `color` those of the
    picture. The rows of a printed table appear when their replicas are computed; with `aggregate` the table has one row per point
    and appears at the end. Raises SpecError for every key and value that is not allowed.
    """
    from tqdm import tqdm

    from attention_limits.interface.compute import compute
    from attention_limits.interface.describe import describe
    from attention_limits.interface.table import table, to_csv

    for path in filter(None, (output, csv, plot)):
        require_place(path)
    if output is not None and output.suffix != ".nc":
        raise SpecError([f"--output: {output}: must end in .nc; --csv writes a table, --plot a picture"])
    described = describe(estimator)
    sections = described.groupby(level="key").section.agg(set).to_dict()
    axes = set(described.index[(described.section == "grid") & (described.default == "required")])
    if plot is not None:
        # A missing package, or a variable that does not exist, is found before the computation.
        from matplotlib.backend_bases import FigureCanvasBase

        from attention_limits.interface.plot import drawn_variable
        from attention_limits.interface.plot import plot as draw

        if plot.suffix.lower().removeprefix(".") not in (kinds := FigureCanvasBase.get_supported_filetypes()):
            raise SpecError([f"--plot: {plot}: allowed: a name that ends in {', '.join(f'.{kind}' for kind in kinds)}"])
        y = drawn_variable(described.index[described.section == "variable"], y)
    start, printed = time.monotonic(), not (output or plot or csv or aggregate)
    header = itertools.chain([True], itertools.repeat(False))

    def finished(chunk: "xr.Dataset", done: int, total: int) -> None:
        if printed:
            tqdm.write(to_csv(table(chunk), header=next(header)), end="")
            sys.stdout.flush()
        if not sys.stderr.isatty():
            print(f"{done} of {total} points ({time.monotonic() - start:.0f} s)", file=sys.stderr, flush=True)

    given: dict[str, dict] = {"model": {}, "grid": {}, "solver": {}}
    for key, value in parameters.items():
        values = _axis(value)
        if values is None and key in axes and isinstance(value, str):
            raise SpecError([f"grid.{key}: {shown(value)}: allowed: 0.5, or 0.5,1, or 0:0.3:31 (start:stop:num)"])
        # The error for an unknown key names those of the model.
        single = next((name for name in ("model", "solver", "grid") if name in sections.get(key, ())), "model")
        given[single if values is None and key not in axes else "grid"][key] = value if values is None else values
    # A cube has at least one axis: without a scan the first key that can be one.
    for key in [key for key in parameters if "grid" in sections.get(key, ())][: not given["grid"]]:
        given["grid"][key] = next(given[name].pop(key) for name in ("model", "solver") if key in given[name])
    cube = compute(
        estimator,
        model=given["model"],
        grid=given["grid"],
        solver=given["solver"],
        replicas=replicas,
        seed=seed,
        data=data,
        workers=workers,
        folder=results,
        finished=finished,
    )
    if output is not None:
        from attention_limits.pipeline.cubes.cube_bytes import write_atomic

        write_atomic(cube, output)
        print(f"{output}: written")
    if plot is not None:
        from attention_limits.interface.plot import plot as draw

        with replacing(plot) as temporary:
            draw(cube, y, color=color).savefig(temporary)
        print(f"{plot}: drawn")
    if csv is not None:
        _write(csv, to_csv(table(cube, aggregate=aggregate)))
    if aggregate and not (output or plot or csv):
        print(to_csv(table(cube, aggregate=True)), end="")


def thresholds_command(parameters: dict, family: str | None, replicas: int | None, seed: int) -> None:
    """Print the thresholds of a link or a channel; `family`, `replicas` and `seed` are those of `thresholds.found`.

    `parameters` are keys of the model and of the solver; without a channel the model is a link, by default deep_attention. A key
    that no specification has goes to the link or channel of a user's file. Raises SpecError for every key and value that is
    not allowed.
    """
    from attention_limits.interface.given import FAMILIES
    from attention_limits.interface.thresholds import found, specification
    from attention_limits.pipeline.experiments.specification import fields

    family = family or FAMILIES["channel" if "channel" in parameters else "link"]
    default = {"link": "deep_attention"} if family == FAMILIES["link"] else {}
    given = {**default, **parameters}
    asked = specification(family)
    solver = {key: given.pop(key) for key in [*given] if key in fields(asked, "solver")}
    known = fields(asked, "model")
    own = any(":" in str(given.get(key)) for key in FAMILIES)
    if own and (more := {key: given.pop(key) for key in [*given] if key not in known}):
        given["parameters"] = more
    written = ", ".join(f"{key} {value}" for key, value in parameters.items() if key not in FAMILIES)
    rows, notes = found(family, given, solver, replicas, seed, report=True)
    name = next(given[key] for key in FAMILIES if key in given)
    print(f"{name}{': ' if written else ''}{written}")
    lines = [
        notes.get("method"),
        *(row["text"] for row in rows),
        notes.get("warning") and f"warning: {notes['warning']}",
    ]
    print("\n".join(filter(None, lines)))


def export_command(cube: Path, csv: Path | None, parquet: Path | None, aggregate: bool) -> None:
    """Write a `cube` as CSV or Parquet, one row per point and replica, or per point (`aggregate`).

    `csv` and `parquet` are the files; the path "." is a file beside the cube. Without a file it prints the CSV.
    """
    from attention_limits.interface.compute import open as opened
    from attention_limits.interface.table import table, to_csv, write_parquet

    frame = table(opened(cube), aggregate=aggregate)
    if parquet is not None:
        path = cube.with_suffix(".parquet") if parquet == Path() else parquet
        write_parquet(frame, path)
        print(f"{path}: written")
    if csv is not None:
        _write(cube.with_suffix(".csv") if csv == Path() else csv, to_csv(frame))
    if csv is None and parquet is None:
        print(to_csv(frame), end="")


def explore_command(cubes: list[Path], output: Path | None, project: Path) -> None:
    """Write `cubes` as one offline page, the file `output`, with the figures and the published numbers of a `project`.

    Without `output` the page is that of `al.explore`.
    """
    from attention_limits.interface.explorer import explore

    output = explore(cubes, output, project)
    count = f"{len(cubes)} {'cube' if len(cubes) == 1 else 'cubes'}"
    print(f"{output}: {count}, {output.stat().st_size / 1e6:.1f} MB")


def estimators_command() -> None:
    """Print every estimator, with what it computes."""
    from attention_limits.interface.describe import estimators

    print(estimators())


def describe_command(estimator: str) -> None:
    """Print the keys and the variables of an `estimator`. Raises SpecError when there is none."""
    from attention_limits.interface.describe import describe

    print(describe(estimator))


# Digits that stand after a decimal comma, not before a point: 0,05 would be the values 0 and 5.
_DECIMALS = re.compile("0[0-9]+")


def _axis(value: object) -> dict | list[float] | None:
    """The values of a grid key that the shell gives, or None where it gives one value."""
    if not isinstance(value, str):
        return None
    if found := _RANGE.fullmatch(value):
        try:
            return {"start": number(found[1]), "stop": number(found[2]), "num": int(found[3])}
        except ValueError:
            return None
    parts = [part.strip() for part in value.split(",")]
    if wrong := next((part for part in parts[1:] if _DECIMALS.fullmatch(part)), None):
        raise SpecError(
            [f"{shown(value)}: {wrong} after a comma: allowed: a decimal point, as in 0.{wrong}, or {int(wrong)}"]
        )
    try:
        return [number(part) for part in parts] if len(parts) > 1 else None
    except ValueError:
        return None


def _write(path: Path, text: str) -> None:
    write_text(path, text)
    print(f"{path}: written")
