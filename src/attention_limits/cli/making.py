"""Commands that make files: run, merge, draw."""

import importlib
from pathlib import Path

from attention_limits.pipeline.errors import CubeError, SpecError
from attention_limits.pipeline.files import replacing
from attention_limits.pipeline.project import results_folder
from attention_limits.pipeline.spec import Experiment, load_experiment


def run_command(
    spec: Path, estimator: str, chunk: str | None, output: Path | None, scale: str, seed: int, results: str
) -> None:
    """Compute one chunk, or every chunk of an estimator whose file is not there, or is damaged or of another seed or code."""
    experiment = load_experiment(spec, scale)
    parts = {**experiment.data, **experiment.estimators}
    part = parts.get(estimator)
    if part is None:
        raise SpecError([f"{spec}: --estimator: {estimator!r}: allowed: {', '.join(parts)}"])
    try:
        chosen = part.chunks if chunk is None else [part.chunk(chunk)]
    except KeyError:
        names = ", ".join(item.name for item in part.chunks)
        raise SpecError([f"{spec}: --chunk: {chunk!r}: not a chunk at scale {scale}; allowed: {names}"]) from None
    if output is not None and chunk is None:
        raise SpecError(["--output: names the file of one chunk; give --chunk too"])
    _require_parts(experiment)

    from attention_limits.pipeline.chunks import run_chunk
    from attention_limits.pipeline.digests import chunk_attributes, point_digest

    kind = "data" if estimator in experiment.data else "chunks"
    folder = Path(results_folder(results, scale), kind, experiment.family, experiment.name, estimator)
    # Of a chunk that is asked for by name nothing is looked at: the workflow knows what is current.
    points = point_digest(part, seed) if chunk is None else None
    for item in chosen:
        path = output or folder / f"{item.name}.nc"
        if points and _is_current(path, chunk_attributes(part, item, points)):
            print(f"{path}: is there")
            continue
        computed = run_chunk(experiment, part, item, seed, path, results)
        print(f"{path}: {computed} points computed, {item.size - computed} taken from other chunks")


def _is_current(path: Path, expect: dict[str, str]) -> bool:
    from attention_limits.pipeline.cubes import read, remake

    try:
        read(path, remake(path), expect)
    except CubeError:
        return False
    return True


def merge_command(spec: Path, output: Path | None, scale: str, seed: int, results: str) -> None:
    """Join all chunks of an experiment."""
    experiment = load_experiment(spec, scale)
    _require_parts(experiment)

    from attention_limits.pipeline.merge import merge

    path = output or Path(results_folder(results, scale), "cubes", experiment.family, f"{experiment.name}.nc")
    merge(experiment, seed, results, path)
    print(f"{path}: {sum(len(part.chunks) for part in experiment.estimators.values())} chunks")


class _Cubes(dict):
    """Cubes by name, which says what to do when a figure asks for one that was not given."""

    def __missing__(self, name: str):
        raise CubeError([f"this figure needs the cube {name} too; given: {', '.join(self)}"])


def draw_command(figure: str, cubes: list[Path], output: Path) -> None:
    """Draw a figure and write it as PDF and PNG, the same bytes from the same cubes; what they are made of stands in both."""
    if output.suffix != ".pdf":
        raise SpecError([f"--output: {output}: must end in .pdf"])
    module = f"attention_limits.figures.{figure}"
    _require_module(module, "FIGURE")

    import matplotlib

    matplotlib.use("Agg")
    from attention_limits.pipeline.cubes import read_or_set_aside, remake
    from attention_limits.pipeline.digests import figure_digest

    given = _Cubes({path.stem: read_or_set_aside(path, remake(path)) for path in cubes})
    drawn = importlib.import_module(module).draw(given)
    made_of = figure_digest(module, {name: cube.attrs.get("cube_digest") for name, cube in given.items()})
    # Both kinds of file keep such texts as they are, so that `list` finds the digest among the bytes.
    metadata = {".pdf": {"CreationDate": None, "Keywords": made_of}, ".png": {"Software": None, "Source": made_of}}
    for path in (output, output.with_suffix(".png")):
        with replacing(path) as temporary:
            drawn.savefig(temporary, metadata=metadata[path.suffix])
    print(f"{output}: drawn")


def _require_parts(experiment: Experiment) -> None:
    """Raise SpecError when a required file or the module of a kind is missing."""
    if missing := experiment.missing():
        raise SpecError([f"{experiment.path}: requires: {line}" for line in missing])
    for section, parts in (("data", experiment.data), ("estimators", experiment.estimators)):
        for name, part in parts.items():
            _require_module(part.module, f"{experiment.path}: {section}.{name}")


def _require_module(name: str, asked_by: str) -> None:
    # Looked for, not imported: an import error inside an existing module is a bug and shows its traceback.
    from attention_limits.pipeline.provenance import closure

    try:
        closure(name)
    except ModuleNotFoundError as error:
        raise SpecError([f"{asked_by}: {error}"]) from None
