"""All chunks of an experiment into its one cube."""

import shlex
from pathlib import Path

import numpy as np

from attention_limits import cubes
from attention_limits.chunks import common_attributes
from attention_limits.combine import Filling, join
from attention_limits.digests import chunk_attributes, cube_digest, point_digest
from attention_limits.errors import CubeError
from attention_limits.files import canonical_json, digest
from attention_limits.project import RESULTS, results_folder
from attention_limits.spec import Experiment


def merge(experiment: Experiment, seed: int, results: str, output: Path) -> None:
    """Read every chunk of an experiment below the folder `results`, combine them and write the cube.

    Chunks of one estimator are put side by side; a variable of several estimators gets the dimension
    `estimator`. Raises CubeError naming every missing, damaged or foreign chunk with the command that makes it
    anew, all in one go.
    """
    folder = Path(results_folder(results, experiment.scale), "chunks", experiment.family, experiment.name)
    config = f"scale={experiment.scale} seed={seed}" + (
        f" results={shlex.quote(results)}" if results != RESULTS else ""
    )
    problems, parts = [], {}
    for name, part in experiment.estimators.items():
        # Chunk by chunk, so that the memory is that of the cube, however many files it comes in.
        filling = Filling({key: np.array(values) for key, values in part.axes().items()})
        points = point_digest(part, seed)
        for chunk in part.chunks:
            path = folder / name / f"{chunk.name}.nc"
            expect = chunk_attributes(part, chunk, points)
            try:
                read = cubes.read(path, cubes.remake(path, config), expect)
            except CubeError as error:
                problems += error.problems
                continue
            if not problems:
                filling.add(read)
        if not problems:
            parts[name] = filling.dataset()
    if problems:
        raise CubeError(problems)
    grid = list({key: None for part in experiment.estimators.values() for key in part.grid})
    models = {name: part.model for name, part in experiment.estimators.items()}
    dataset = cubes.annotate(join(parts, models, ["estimator", *grid, "replica"]), experiment.family, grid)
    spec = experiment.effective()
    dataset.attrs = {
        **common_attributes(experiment, seed),
        "spec": canonical_json(spec),
        "spec_digest": digest(spec),
        "cube_digest": cube_digest(experiment, seed),
    }
    cubes.write_atomic(dataset, output)
