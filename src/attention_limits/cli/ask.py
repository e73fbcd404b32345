"""Commands that answer a question without an experiment file: compute, threshold, export, explore, estimators, describe."""

import re
from pathlib import Path

from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.files import replacing

_RANGE = re.compile(r"([^:,]+):([^:,]+):(\d+)")


def compute_command(
    estimator: str,
    parameters: dict,
    replicas: int,
    seed: int,
    workers: int,
    results: Path | None,
    output: Path | None,
    csv: Path | None,
    plot: Path | None,
    y: str | None,
    color: str | None,
) -> None:
    """Compute one `estimator`; write the cube (`output`), a table (`csv`), a picture (`plot`), or print the table.

    `parameters` are keys of the model, the grid and the solver: `start:stop:num` and `first,second` are values of a grid key.
    `y` and `color` are those of the picture. Raises SpecError for every key and value that is not allowed.
    """
    from attention_limits.interface.compute import compute
    from attention_limits.interface.describe import describe
    from attention_limits.interface.table import table, to_csv

    if plot is not None and y is None:
        raise SpecError(["--plot: needs --y, the variable to draw"])
    sections = describe(estimator).groupby(level="key").section.agg(set).to_dict()
    given: dict[str, dict] = {"model": {}, "grid": {}, "solver": {}}
    for key, value in parameters.items():
        values = _axis(value)
        scanned = values is not None or sections.get(key) == {"grid"}
        section = "grid" if scanned else "solver" if sections.get(key) == {"solver"} else "model"
        given[section][key] = value if values is None else values
    cube = compute(estimator, **given, replicas=replicas, seed=seed, workers=workers, folder=results)
    if output is not None:
        from attention_limits.pipeline.layout import write_atomic

        write_atomic(cube, output)
        print(f"{output}: written")
    if plot is not None:
        from attention_limits.interface.plot import plot as draw

        with replacing(plot) as temporary:
            draw(cube, y, color=color).savefig(temporary)
        print(f"{plot}: drawn")
    if csv is not None:
        _write(csv, to_csv(table(cube)))
    if not (output or plot or csv):
        print(to_csv(table(cube, aggregate=replicas > 1)), end="")


def threshold_command(parameters: dict, replicas: int | None, seed: int) -> None:
    """Print the thresholds of a link or a channel.

    `parameters` are keys of the model and of the solver; without a name of a link or channel the link is deep_attention. A key
    that no specification has goes to the link of the user. Raises SpecError for every key and value that is not allowed.
    """
    from attention_limits.interface.thresholds import FAMILIES, family_of, specification, thresholds

    given = parameters if any(key in parameters for key in FAMILIES) else {"link": "deep_attention", **parameters}
    keys = specification(family_of(given)).model_fields
    solver = {key: given.pop(key) for key in keys["solver"].annotation.model_fields if key in given}
    known = keys["model"].annotation.model_fields
    if "parameters" in known and (more := {key: given.pop(key) for key in [*given] if key not in known}):
        given["parameters"] = more
    written = ", ".join(f"{key} {value}" for key, value in parameters.items() if key not in FAMILIES)
    found = thresholds(given, solver=solver, replicas=replicas, seed=seed, report=True)
    name = next(given[key] for key in FAMILIES if key in given)
    print(f"{name}{': ' if written else ''}{written}")
    if "method" in found.attrs:
        print(found.attrs["method"])
    print("\n".join(found.text))
    if "warning" in found.attrs:
        print(f"warning: {found.attrs['warning']}")


def export_command(cube: Path, output: Path | None, parquet: Path | None, aggregate: bool) -> None:
    """Write a cube as CSV (`output`) or Parquet, one row per point and replica, or per point (`aggregate`).

    Without a file it prints the CSV.
    """
    from attention_limits.interface.compute import open as opened
    from attention_limits.interface.table import table, to_csv, write_parquet

    frame = table(opened(cube), aggregate=aggregate)
    if parquet is not None:
        write_parquet(frame, parquet)
        print(f"{parquet}: written")
    if output is not None:
        _write(output, to_csv(frame))
    if output is None and parquet is None:
        print(to_csv(frame), end="")


def explore_command(cubes: list[Path], output: Path, project: Path) -> None:
    """Write cubes as one offline page, with the figures and the published numbers of a `project`."""
    from attention_limits.interface.explorer import explore

    explore(cubes, output, project)
    print(f"{output}: {len(cubes)} cubes, {output.stat().st_size / 1e6:.1f} MB")


def estimators_command() -> None:
    """Print every estimator, with what it computes."""
    from attention_limits.interface.describe import estimators

    for name, row in estimators().iterrows():
        print(f"{name}: {row.computes}")


def describe_command(estimator: str) -> None:
    """Print the keys of an `estimator`: section, allowed values, default, meaning. Raises SpecError when there is none."""
    from attention_limits.interface.describe import describe

    for key, row in describe(estimator).iterrows():
        default = f", {row.default if row.default == 'required' else f'default {row.default}'}" if row.default else ""
        print(f"{row.section}.{key}: {row.allowed}{default}. {row.meaning}")


def _axis(value) -> dict | list[float] | None:
    """The values of a grid key that the shell gives, or None where it gives one value."""
    if not isinstance(value, str):
        return None
    if found := _RANGE.fullmatch(value):
        try:
            return {"start": float(found[1]), "stop": float(found[2]), "num": int(found[3])}
        except ValueError:
            return None
    try:
        return [float(part) for part in value.split(",")] if "," in value else None
    except ValueError:
        return None


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(f"{path}: written")
