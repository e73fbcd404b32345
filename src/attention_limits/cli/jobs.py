"""Commands of the jobs of the workflow: run, merge, draw."""

import importlib
import json
from pathlib import Path

from attention_limits.pipeline.errors import CubeError, SpecError
from attention_limits.pipeline.estimator import Experiment
from attention_limits.pipeline.experiment import load_experiment
from attention_limits.pipeline.files import replacing
from attention_limits.pipeline.project import RESULTS, part_folder, results_folder
from attention_limits.pipeline.provenance import PACKAGE, has_module


def run_command(
    spec: Path,
    estimator: str,
    chunk: str | None,
    output: Path | None,
    scale: str,
    seed: int,
    results: str,
    settings: dict,
) -> None:
    """Compute one chunk, or all chunks of an estimator whose files are missing, damaged, or made with another seed or code."""
    experiment = _ready(spec, scale, settings)
    part = experiment.parts.get(estimator)
    if part is None:
        raise SpecError([f"{spec}: --estimator: {estimator!r}: allowed: {', '.join(experiment.parts)}"])
    try:
        chosen = part.chunks if chunk is None else [part.chunk(chunk)]
    except KeyError:
        names = ", ".join(item.name for item in part.chunks)
        raise SpecError([f"{spec}: --chunk: {chunk!r}: not a chunk at scale {scale}; allowed: {names}"]) from None
    if output is not None and chunk is None:
        raise SpecError(["--output: is the file of one chunk; give --chunk too"])

    from attention_limits.pipeline.chunks import is_current, run_chunk
    from attention_limits.pipeline.digests import point_digest

    folder = results_folder(results, scale)
    # The workflow gives the chunk, and only if its file is not current.
    points = point_digest(part, seed) if chunk is None else None
    for item in chosen:
        path = output or Path(part_folder(folder, part), f"{item.name}.nc")
        if points and is_current(path, part, item, points):
            print(f"{path}: exists")
            continue
        computed = run_chunk(experiment, part, item, seed, path, folder)
        print(f"{path}: {computed} points computed, {item.size - computed} taken from other chunks")


def merge_command(spec: Path, output: Path | None, scale: str, seed: int, results: str, settings: dict) -> None:
    """Join all chunks of an experiment."""
    experiment = _ready(spec, scale, settings)

    from attention_limits.pipeline.merge import merge

    folder = results_folder(results, scale)
    path = output or Path(folder, "cubes", experiment.family, f"{experiment.name}.nc")
    config = [f"scale={scale}", f"seed={seed}", *([f"results={results}"] if results != RESULTS else [])]
    merge(experiment, seed, folder, path, [*config, *([f"set={json.dumps(settings)}"] if settings else [])])
    print(f"{path}: {sum(len(part.chunks) for part in experiment.estimators.values())} chunks")


def _ready(spec: Path, scale: str, settings: dict) -> Experiment:
    """The experiment, with its required files in place."""
    experiment = load_experiment(spec, scale, settings)
    if missing := experiment.missing():
        raise SpecError([f"{spec}: requires: {line}" for line in missing])
    return experiment


class _Cubes(dict):
    """Cubes by name. The error for a missing cube lists the given ones."""

    def __missing__(self, name: str):
        raise CubeError([f"this figure needs the cube {name} too; given: {', '.join(self)}"])


def draw_command(figure: str, cubes: list[Path], output: Path) -> None:
    """Draw a figure as PDF and PNG, the same bytes from the same cubes."""
    if output.suffix != ".pdf":
        raise SpecError([f"--output: {output}: must end in .pdf"])
    family, _, name = figure.rpartition("/")
    module = f"{PACKAGE}.{family}.figures.{name}"
    if not has_module(module):
        raise SpecError([f"FIGURE: no module {module}"])

    import matplotlib

    matplotlib.use("Agg")
    from attention_limits.pipeline.cubes import read, remake

    drawn = importlib.import_module(module).draw(_Cubes({path.stem: read(path, remake(path)) for path in cubes}))
    # Without a date.
    for path, metadata in ((output, {"CreationDate": None}), (output.with_suffix(".png"), {"Software": None})):
        with replacing(path) as temporary:
            drawn.savefig(temporary, metadata=metadata)
    print(f"{output}: drawn")
