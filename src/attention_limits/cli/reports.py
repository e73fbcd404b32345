"""Commands that print and change nothing: check, list, summary, show."""

import json
import sys
from pathlib import Path

from attention_limits.pipeline.errors import CubeError, SpecError
from attention_limits.pipeline.experiment import SCALES, load_experiment
from attention_limits.pipeline.files import canonical_json
from attention_limits.pipeline.project import load_project


def check_command(files: list[Path]) -> None:
    """Validate experiment files at every scale; all problems of all files are reported together."""
    problems = []
    for path in files:
        try:
            sizes = []
            for scale in SCALES:
                experiment = load_experiment(path, scale)
                chunks = [chunk for part in experiment.estimators.values() for chunk in part.chunks]
                sizes.append(f"{scale} {sum(chunk.size for chunk in chunks)} points in {len(chunks)} chunks")
            print("; ".join([f"{path}: good", ", ".join(sizes), *experiment.missing()]))
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)


def list_command(project: Path, scale: str, seed: int, results: str, settings: dict) -> None:
    """Print every experiment with the number of its files that exist, and every figure; nothing is opened."""
    loaded = load_project(project, {"scale": scale, "seed": seed, "results": results, "set": settings})
    for note in loaded.notes():
        print(note, file=sys.stderr)

    def there(paths: list[str]) -> str:
        return f"{sum(Path(path).exists() for path in paths)} of {len(paths)}"

    for family, experiments in loaded.experiments.items():
        for name, experiment in experiments.items():
            path, chunks = loaded.cube_path(family, name), loaded.chunk_paths(family, name)
            print(f"cube    {there([path])}  {path}  ({there(chunks)} chunks)  {experiment.title}")
    for name, figure in loaded.figures.items():
        paths = loaded.figure_paths(name)
        print(f"figure  {there(paths)}  {paths[0]}  {figure.title}")


def summary_command(project: Path, scale: str, seed: int, results: str, settings: dict) -> None:
    """Print the number of unconverged points of each cube, and the paths of the results."""
    from attention_limits.pipeline.cubes import read, remake

    loaded = load_project(project, {"scale": scale, "seed": seed, "results": results, "set": settings})
    lines, damaged = [], []
    for family, experiments in loaded.experiments.items():
        for path in (Path(loaded.cube_path(family, name)) for name in experiments):
            try:
                cube = read(path, remake(path)) if path.exists() else {}
            except CubeError as error:
                damaged += error.problems
                continue
            for estimator, count, points in _unconverged(cube):
                if count:
                    lines.append(f"  {f'{count} of {points}':>12}  {path}{f', {estimator}' if estimator else ''}")
    print("\n".join(["points not converged, marked in the figures:", *lines] if lines else ["all points converged"]))
    made = [loaded.figure_paths(name)[0] for name in loaded.figures]
    print(
        "\n".join(
            ["figures; each PDF has a PNG of the same name:", *(f"  {path}" for path in made if Path(path).exists())]
        )
    )
    for what, path in (
        ("audit of published numbers", "audit.md"),
        ("report", "report.html"),
        ("all cubes", "explorer.html"),
    ):
        if Path(loaded.results, path).exists():
            print(f"{what}: {loaded.results}/{path}")
    print("\n".join(damaged), end="\n" if damaged else "")


def show_command(cube: Path) -> None:
    """Print title, specification, coordinates, variables with ranges, and unconverged points of a cube."""
    from attention_limits.pipeline.cubes import read, remake

    dataset = read(cube, repair=remake(cube))
    attributes = dataset.attrs
    print(f"{attributes['title']}\n{attributes['summary']}\nsource: {attributes['source']}")
    print(f"root seed {attributes['root_seed']}; versions {attributes['versions']}")
    spec = json.loads(attributes["spec"])
    for name, part in spec.get("estimators", {spec.get("estimator"): spec}).items():
        print(f"estimator {name}: model {canonical_json(part['model'])}, solver {canonical_json(part['solver'])}")
    for name, array in dataset.coords.items():
        print(f"coordinate {name} {_extent(array)}; {array.attrs['long_name']}: {array.attrs['definition']}")
    for name, array in dataset.data_vars.items():
        print(f"variable {name} {tuple(array.dims)}: {_extent(array)}")
        print("    " + "; ".join(array.attrs[key] for key in ("symbol", "long_name", "normalisation", "source")))
    for estimator, count, points in _unconverged(dataset):
        print(f"{count} of {points} points{f' of {estimator}' if estimator else ''} not converged")


def _extent(array) -> str:
    if array.dtype.kind not in "fiub":
        return ", ".join(map(str, array.values.ravel()[:5]))
    values = array.astype(float)
    missing = int(values.isnull().sum())
    note = f", {missing} of {array.size} missing" if missing else ""
    return f"{values.min().item():.6g} … {values.max().item():.6g}{note}"


def _unconverged(cube) -> list[tuple[str, int, int]]:
    """Estimator, number of points that did not converge, number of points, for every variable of convergence.

    These are `converged`, `held_converged` and similar names, `escaped`, and `finite`.
    """
    found = []
    for name in map(str, cube):
        if "converged" not in name and name not in ("escaped", "finite"):
            continue
        array = cube[name].astype(float)
        owners = array.estimator.values.tolist() if "estimator" in array.dims else [array.attrs.get("estimator", "")]
        for owner in owners:
            part = array.sel(estimator=owner) if "estimator" in array.dims else array
            if points := int(part.count()):
                found.append((owner, int((part == 0).sum()), points))
    return found
