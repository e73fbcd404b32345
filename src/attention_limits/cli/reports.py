"""Commands that print and change nothing: check, list, summary, show."""

import json
import sys
from pathlib import Path

from attention_limits.pipeline.damage import UNREADABLE, aside_lines
from attention_limits.pipeline.errors import CubeError, SpecError
from attention_limits.pipeline.experiment import SCALES, load_experiment
from attention_limits.pipeline.files import canonical_json
from attention_limits.pipeline.project import Project, load_project, results_folder


def check_command(files: list[Path]) -> None:
    """Validate experiment files at every scale; all problems of all files are reported together."""
    problems = []
    for path in files:
        try:
            sizes = []
            for scale in SCALES:
                experiment = load_experiment(path, scale)
                jobs = sum(len(part.chunks) for part in experiment.estimators.values())
                points = sum(chunk.size for part in experiment.estimators.values() for chunk in part.chunks)
                sizes.append(f"{scale} {points} points in {jobs} chunks")
            print("; ".join([f"{path}: good", ", ".join(sizes), *experiment.missing()]))
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)


def list_command(project: Path, scale: str, seed: int, results: str, settings: dict, stale: bool) -> None:
    """Print every experiment and figure with the state of its files."""
    loaded = load_project(project, {"scale": scale, "seed": seed, "results": results, "set": settings})
    if stale:
        for path in _unneeded_chunks(loaded, project):
            print(path)
        return
    for note in loaded.notes():
        print(note, file=sys.stderr)
    digests = loaded.cube_digests
    for (family, name), digest in digests.items():
        path = loaded.cube_path(family, name)
        chunks = loaded.chunk_paths(family, name)
        there = sum(Path(chunk).exists() for chunk in chunks)
        title = loaded.experiments[family][name].title
        print(f"cube    {_cube_state(Path(path), digest):8}  {path}  ({there} of {len(chunks)} chunks)  {title}")
    for name, figure in loaded.figures.items():
        files = [Path(path) for path in loaded.figure_paths(name)]
        print(f"figure  {_figure_state(files, loaded.figure_digest(name)):8}  {files[0]}  {figure.title}")


def _unneeded_chunks(project: Project, root: Path) -> list[Path]:
    """Chunks that no scale with the same results folder needs; laptop and paper share one.

    The chunks of an experiment that is left out count as needed, because its required file may come back.
    """
    config = {"seed": project.seed, "results": project.base, "set": dict(project.settings)}
    sharing = [scale for scale in SCALES if results_folder(project.base, scale) == project.results]
    needed = {
        Path(path)
        for loaded in (load_project(root, {"scale": scale, **config}) for scale in sharing)
        for family, experiments in loaded.experiments.items()
        for name in experiments
        for path in loaded.chunk_paths(family, name)
    }
    kept = {Path(project.results, "chunks", item.family, item.name) for item in project.left_out}
    found = Path(project.results, "chunks").glob("*/*/*/*.nc")
    return sorted(path for path in found if path not in needed and path.parents[1] not in kept)


def _cube_state(path: Path, digest: str) -> str:
    if not path.exists():
        return "absent"
    import netCDF4

    try:
        with netCDF4.Dataset(path) as opened:
            return "complete" if getattr(opened, "cube_digest", None) == digest else "stale"
    except UNREADABLE:
        return "damaged"


def _figure_state(files: list[Path], digest: str) -> str:
    if not all(path.exists() for path in files):
        return "absent"
    return "complete" if all(digest.encode() in path.read_bytes() for path in files) else "stale"


def summary_command(project: Path, scale: str, seed: int, results: str, settings: dict) -> None:
    """Print the number of unconverged points of each cube, the paths of the results, and the damaged files."""
    from attention_limits.pipeline.cubes import read, remake

    loaded = load_project(project, {"scale": scale, "seed": seed, "results": results, "set": settings})
    lines, damaged = [], []
    for family, experiments in loaded.experiments.items():
        for name in experiments:
            path = Path(loaded.cube_path(family, name))
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
    print("figures, each with a PNG beside it:")
    print("\n".join(f"  {path}" for path in made if Path(path).exists()))
    for what, path in (("audit of published numbers", "audit.md"), ("report", "report.html")):
        if Path(loaded.results, path).exists():
            print(f"{what}: {loaded.results}/{path}")
    for line in (*damaged, *aside_lines(loaded.results)):
        print(line)


def show_command(cube: Path) -> None:
    """Print title, specification, coordinates, variables with ranges, and unconverged points of a cube."""
    from attention_limits.pipeline.cubes import read, remake

    dataset = read(cube, repair=remake(cube))
    attributes = dataset.attrs
    print(f"{attributes['title']}\n{attributes['summary']}\nsource: {attributes['source']}")
    print(f"root seed {attributes['root_seed']}; " + _pairs(json.loads(attributes["versions"])))
    spec = json.loads(attributes["spec"])
    for name, part in spec.get("estimators", {spec.get("estimator"): spec}).items():
        print(f"estimator {name}: model {canonical_json(part['model'])}, solver {canonical_json(part['solver'])}")
    print("coordinates")
    for name, array in dataset.coords.items():
        values = array.values.tolist()
        extent = f"{values[0]} … {values[-1]}" if len(values) > 4 else ", ".join(map(str, values))
        print(f"  {name} ({len(values)}): {extent}; {array.attrs['long_name']}: {array.attrs['definition']}")
    print("variables")
    for name, array in dataset.data_vars.items():
        print(f"  {name} {tuple(array.dims)}: {_extent(array)}")
        symbol = f"{array.attrs['symbol']}, " if array.attrs["symbol"] else ""
        print(f"    {symbol}{array.attrs['long_name']}; {array.attrs['normalisation']}; {array.attrs['source']}")
    unconverged = [
        f"{count} of {points} points{f' of {estimator}' if estimator else ''} not converged"
        for estimator, count, points in _unconverged(dataset)
    ]
    if unconverged:
        print("; ".join(unconverged))


def _pairs(values: dict[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())


def _extent(array) -> str:
    if array.dtype.kind not in "fiub":
        return "text"
    present = array.astype(float).count().item()
    missing = array.size - present
    if not present:
        return "all missing"
    note = f", {missing} of {array.size} missing" if missing else ""
    return f"{array.astype(float).min().item():.6g} … {array.astype(float).max().item():.6g}{note}"


def _unconverged(cube) -> list[tuple[str, int, int]]:
    """Estimator, number of points that did not converge, number of points, for every variable of convergence.

    These are `converged`, `held_converged` and similar names, `escaped`, and `finite`.
    """
    found = []
    for name in map(str, cube):
        if "converged" not in name and name not in ("escaped", "finite"):
            continue
        array = cube[name]
        groups = (
            [(str(kind), array.sel(estimator=kind)) for kind in array.estimator.values]
            if "estimator" in array.dims
            else [(array.attrs.get("estimator", ""), array)]
        )
        counts = [(kind, int((part == 0).sum()), int(part.astype(float).count())) for kind, part in groups]
        found += [item for item in counts if item[2]]
    return found
