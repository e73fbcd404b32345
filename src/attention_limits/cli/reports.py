"""Commands that read the project and its results: check, list, summary, estimate, show, audit, refine."""

import json
import sys
from functools import cache
from pathlib import Path

from attention_limits.pipeline.base.errors import CubeError, SpecError
from attention_limits.pipeline.base.files import write_text
from attention_limits.pipeline.experiments.estimator import Experiment
from attention_limits.pipeline.experiments.experiment import at_scales
from attention_limits.pipeline.experiments.project import Run, load_project


def check_command(files: list[Path]) -> None:
    """Validate experiment files at every scale; all problems of all files are reported together."""
    problems = []
    for path in files:
        try:
            sizes = []
            for scale, experiment in at_scales(path).items():
                chunks = [chunk for estimator in experiment.estimators.values() for chunk in estimator.chunks]
                sizes.append(f"{scale} {sum(chunk.size for chunk in chunks)} points in {len(chunks)} chunks")
            print("; ".join([f"{path}: good", ", ".join(sizes), *experiment.missing()]))
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)


def list_command(project: Path, run: Run) -> None:
    """Print every experiment with the number of its files that exist, and every figure; nothing is opened."""
    loaded = load_project(project, run.plain())
    for note in loaded.notes():
        print(note, file=sys.stderr)

    def there(paths: list[str]) -> str:
        return f"{sum(Path(path).exists() for path in paths)} of {len(paths)}"

    for experiment in loaded.all():
        path, chunks = experiment.cube_path(run.folder), experiment.chunk_paths(run.folder)
        print(f"cube    {there([path])}  {path}  ({there(chunks)} chunks)  {experiment.title}")
    for figure in loaded.figures.values():
        paths = figure.paths(run.folder)
        print(f"figure  {there(paths)}  {paths[0]}  {figure.title}")


def summary_command(project: Path, run: Run) -> None:
    """Print the number of points of each cube that fail a flag, the paths of the results, and cubes to make again."""
    loaded = load_project(project, run.plain())
    lines, wrong = [], []
    for experiment in loaded.all():
        try:
            cube = current_cube(experiment, run)
        except CubeError as error:
            wrong += error.problems
            continue
        for estimator, flag, count, points in failing({} if cube is None else cube):
            if count:
                where = f"{experiment.cube_path(run.folder)}{f', {estimator}' if estimator else ''}"
                lines.append(f"  {f'{count} of {points}':>12}  {flag:<16}  {where}")
    print(
        "\n".join(
            ["points that fail a flag, marked in the figures:", *lines] if lines else ["all points pass their flags"]
        )
    )
    print("figures; each PDF has a PNG of the same name:")
    made = [figure.paths(run.folder)[0] for figure in loaded.figures.values()]
    print("".join(f"  {path}\n" for path in made if Path(path).exists()), end="")
    others = {"audit.md": "audit of published numbers", "report.html": "report", "explorer.html": "all cubes"}
    for name, text in others.items():
        if Path(run.folder, name).exists():
            print(f"{text}: {run.folder}/{name}")
    print("".join(f"{problem}\n" for problem in wrong), end="")
    if Path(run.folder, "index.html").exists():
        print(f"open in a browser: {run.folder}/index.html")


def current_cube(experiment: Experiment, run: Run):
    """The cube of an experiment, or None if there is none. Raises CubeError when it is damaged or outdated."""
    path = Path(experiment.cube_path(run.folder))
    if not path.exists():
        return None

    from attention_limits.pipeline.cubes.reader import read, remake

    return read(path, remake(path, run.written()), {"cube_digest": experiment.digest(run.seed)})


def estimate_command(project: Path, families: list[str], run: Run) -> None:
    """Print points, chunks, CPU hours and memory that are left for each estimator, by family and in all; no job starts."""
    loaded = load_project(project, {**run.plain(), "families": families or "all"})
    for note in loaded.notes():
        print(note, file=sys.stderr)

    from attention_limits.pipeline.experiments.estimate import estimates

    rows = list(estimates(loaded))
    print(
        f"{'CPU hours (lowest to highest)':>32}  timed     points left     chunks left       MB used   estimator: work"
    )
    for family in loaded.experiments:
        own = [row for row in rows if row.estimator.family == family]
        print(f"{family}:")
        for row in own:
            powers = row.estimator.specification.work(row.estimator).items()
            text = " ".join(key if power == 1 else f"{key}^{power:g}" for key, power in powers) or "points"
            text += f"; not scaled with {', '.join(row.ignored)}" if row.ignored else ""
            left = "".join(f"{f'{some} of {every}':>16}" for some, every in zip(row.left, row.total, strict=True))
            used = "?" if row.megabytes is None else f"{row.megabytes:.0f}"
            memory = f"{used} of {row.estimator.resources['memory']}"
            print(
                f"{_hours([row]):>32}  {row.timed:>5}{left}{memory:>14}   {row.estimator.experiment} {row.estimator.name}: {text}"
            )
        print(_sum(family, own))
    print(_sum("all", rows))
    print(
        """
CPU hours: CPU seconds per unit of work of the timed chunks (finished ones), times the work of the points that are left.
In brackets: at the lowest and at the highest seconds per unit of work of one chunk. One timed chunk gives no range.
Work: the product of these powers, summed over the points; "points" is their number. "not scaled with": this key differs
from that of the timed chunks, and the work ignores it. Short chunks are mostly the start of the program.
MB used: the largest memory of a timed chunk, of the memory that a job requests."""
    )


def _hours(rows) -> str:
    """The sums of the hours of estimates, with their range."""
    known = [row.hours for row in rows if row.hours is not None]
    if not known:
        return "no finished chunk"
    low, mean, high = (sum(column) for column in zip(*known, strict=True))
    return f"{mean:.2f} ({low:.2f} to {high:.2f})" if low < high else f"{mean:.2f}"


def _sum(name: str, rows) -> str:
    """One line with the sums of estimates."""
    points, chunks = (sum(row.left[i] for row in rows) for i in (0, 1))
    absent = [row.left[1] for row in rows if row.hours is None]
    without = f"; {sum(absent)} of them, of {len(absent)} estimators, without a finished chunk" if absent else ""
    return f"{_hours(rows):>32}  {name}: {points} points in {chunks} chunks left{without}"


def show_command(cube: Path) -> None:
    """Print the attributes, the dimensions and the variables of a cube, and its points that fail a flag."""
    from attention_limits.interface.compute import open as opened

    dataset = opened(cube)
    dataset.info(sys.stdout)
    print()
    for estimator, flag, count, points in failing(dataset):
        print(f"{flag}: {count} of {points} points{f' of {estimator}' if estimator else ''} fail")


def audit_command(project: Path, families: list[str], output: Path, run: Run) -> None:
    """Compare published numbers with ours; write a table, and the same as JSON.

    A number is "not computed" if its cube is missing, or was made with another
    specification, seed or code; a line names such a cube.
    """
    if output.suffix != ".md":
        raise SpecError([f"--output: {output}: must end in .md"])
    loaded = load_project(project, {**run.plain(), "families": families or "all"})

    from attention_limits.pipeline.audit import compare, counts, full_table, load_published
    from attention_limits.pipeline.cubes.reader import OutdatedError

    rows, outdated = [], []

    # Several numbers are from one cube, which is read once.
    @cache
    def cube_of(family: str, name: str):
        try:
            return current_cube(loaded.experiments[family][name], run)
        except OutdatedError as error:
            outdated.extend(error.problems)
            return None

    for entry in load_published(project, loaded.experiments):
        found = {name: cube_of(entry.family, name) for name in entry.cubes}
        rows.append(compare(entry, {name: cube for name, cube in found.items() if cube is not None}))
    print("".join(f"not compared: {problem}\n" for problem in outdated), end="", file=sys.stderr)
    data = json.dumps({"numbers": rows}, indent=1, ensure_ascii=False) + "\n"
    for path, text in ((output, full_table(rows)), (output.with_suffix(".json"), data)):
        write_text(path, text)
    print(f"{output}: {counts(rows)}")


def refine_command(
    spec: Path, cube: Path, estimator: str, key: str, of: str, points: int, log: bool, write: bool
) -> None:
    """Print further values of the axis `key`, where the variable `of` of a cube bends; put them into the file if `write`.

    Raises SpecError as `refine.curves_of` and `refine.refined_text`, or when the file is no valid experiment.
    """
    from attention_limits.pipeline.cubes.reader import read
    from attention_limits.pipeline.experiments.refine import curves_of, further_values, refined_text

    at_scales(spec)
    x, mean, error = curves_of(read(cube, changed=True), estimator, of, key)
    if log and not x[0] > 0:
        raise SpecError([f"--log: the axis {key} begins at {x[0]:g}; allowed: values above zero"])
    more = further_values(x, mean, error, points, log)
    print(f"{key}: {', '.join(f'{value:.12g}' for value in more)}")
    text = refined_text(spec, estimator, key, more)
    if write:
        write_text(spec, text)
        at_scales(spec)
        print(f"{spec}: {len(more)} values added to estimators.{estimator}.grid.{key}")


def failing(cube) -> list[tuple[str, str, int, int]]:
    """Estimator, flag, number of points that fail it, number of points, for every flag of a cube."""
    from attention_limits.pipeline.cubes.readings import judges, least

    found = []
    for name in map(str, cube):
        if not judges(name):
            continue
        array = cube[name].astype(float)
        parts = {array.attrs.get("estimator", ""): array}
        if "estimator" in array.dims:
            parts = {owner: array.sel(estimator=owner) for owner in array.estimator.values.tolist()}
        found += [
            (owner, name, int((flag < least(name)).sum()), int(flag.count()))
            for owner, flag in parts.items()
            if flag.count()
        ]
    return found
