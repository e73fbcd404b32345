"""Commands of the jobs of the workflow: run, merge, draw."""

import importlib
import json
from pathlib import Path

from attention_limits.pipeline.base import provenance
from attention_limits.pipeline.base.errors import CubeError, SpecError, allowed_names, did_you_mean
from attention_limits.pipeline.base.files import replacing, require_place
from attention_limits.pipeline.base.provenance import has_module
from attention_limits.pipeline.experiments.estimator import Experiment
from attention_limits.pipeline.experiments.experiment import at_scales
from attention_limits.pipeline.experiments.figures import figure_module
from attention_limits.pipeline.experiments.project import Run


def run_command(spec: Path, estimator: str, chunk: str | None, output: Path | None, run: Run) -> None:
    """Compute one chunk, or all chunks of an estimator whose files are missing, damaged, or made with another seed or code."""
    experiment = _ready(spec, run)
    selected = experiment.all_estimators.get(estimator)
    if selected is None:
        raise SpecError([f"{spec}: --estimator: {estimator!r}: {allowed_names(estimator, experiment.all_estimators)}"])
    if chunk is not None and chunk not in selected.chunk:
        allowed = f"not a chunk at scale {run.scale}; allowed: {', '.join(selected.chunk)}"
        raise SpecError([f"{spec}: --chunk: {chunk!r}: {allowed}"])
    if output is not None and chunk is None:
        raise SpecError(["--output: is the file of one chunk; give --chunk too"])

    from attention_limits.pipeline.cubes.chunks import is_current, run_chunk
    from attention_limits.pipeline.notices import report_own_models

    for item in selected.chunks if chunk is None else [selected.chunk[chunk]]:
        path = output or Path(selected.path(run.folder, item))
        # The workflow gives the chunk, and only if its file is not current.
        if chunk is None and is_current(path, selected, item, run.seed):
            print(f"{path}: exists")
            continue
        require_place(path)
        report_own_models(selected)
        computed = run_chunk(experiment, selected, item, run.seed, path, run.folder)
        print(f"{path}: {computed} points computed, {item.size - computed} taken from other chunks")


def merge_command(spec: Path, output: Path | None, run: Run) -> None:
    """Join all chunks of an experiment."""
    experiment = _ready(spec, run)

    from attention_limits.pipeline.cubes.chunks import merge

    path = output or Path(experiment.cube_path(run.folder))
    merge(experiment, run.seed, run.folder, path, run.written())
    print(f"{path}: {len(experiment.chunk_paths(run.folder))} chunks")


def _ready(spec: Path, run: Run) -> Experiment:
    """The experiment, with its required files in place."""
    # The start of the workflow validates the other scales.
    experiment = at_scales(spec, run.set, scales=(run.scale,))[run.scale]
    if missing := experiment.missing():
        raise SpecError([f"{spec}: requires: {line}" for line in missing])
    return experiment


class _Cubes(dict):
    """Cubes by name. The error for a missing cube lists the given ones."""

    def __missing__(self, name: str):
        raise CubeError([f"this figure needs the cube {name} too; given: {', '.join(self)}"])


def draw_command(figure: str, cubes: list[Path], output: Path, digest: str | None, expect: list[str]) -> None:
    """Draw a figure as PDF and PNG, the same bytes from the same cubes; the PNG holds the digest and the numbers of the caption.

    The numbers are those that the function `numbers` of the module, if there is one, returns for the cubes.
    `expect` holds the digest of each cube, or nothing. Raises CubeError for a cube with another one.
    """
    if output.suffix != ".pdf":
        raise SpecError([f"--output: {output}: must end in .pdf"])
    if expect and len(expect) != len(cubes):
        raise SpecError([f"--expect: {len(expect)} digests; allowed: one for each of the {len(cubes)} cubes"])
    family, _, name = figure.rpartition("/")
    module = figure_module(family, name)
    if not has_module(module):
        source = provenance.SOURCE
        drawn = {f"{path.relative_to(source).parts[0]}/{path.stem}" for path in source.glob("*/figures/**/*.rst")}
        raise SpecError([f"FIGURE: no module {module}{did_you_mean(figure, sorted(drawn))}"])

    import matplotlib

    matplotlib.use("Agg")
    from attention_limits.pipeline.base.attributes import DIGEST, NUMBERS
    from attention_limits.pipeline.cubes.reader import read

    wanted = [{"cube_digest": item} for item in expect] or [None] * len(cubes)
    # The workflow draws what it has written. Other users may draw any cube, with a warning.
    opened = {path.stem: read(path, expect=one, changed=one is None) for path, one in zip(cubes, wanted, strict=True)}
    loaded, given = importlib.import_module(module), _Cubes(opened)
    drawn = loaded.draw(given)
    # Without a date.
    texts = {"Software": None, **({DIGEST: digest} if digest else {})}
    if hasattr(loaded, "numbers"):
        texts[NUMBERS] = json.dumps({name: float(f"{number:.6g}") for name, number in loaded.numbers(given).items()})
    for path, metadata in ((output, {"CreationDate": None}), (output.with_suffix(".png"), texts)):
        with replacing(path) as temporary:
            drawn.savefig(temporary, metadata=metadata)
    print(f"{output}: drawn")
