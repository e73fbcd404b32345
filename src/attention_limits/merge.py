"""All chunks of an experiment into its one cube."""

import shlex
from pathlib import Path

import numpy as np

from attention_limits import cubes
from attention_limits.combine import Filling
from attention_limits.digests import chunk_attributes, cube_digest, point_digest
from attention_limits.errors import CubeError
from attention_limits.layout import cube_attributes, grid_keys, joined, write_atomic
from attention_limits.project import RESULTS, results_folder
from attention_limits.provenance import versions
from attention_limits.spec import Experiment


def merge(experiment: Experiment, seed: int, results: str, output: Path) -> None:
    """Read every chunk of an experiment below the folder `results`, combine them and write the cube.

    Chunks of one estimator are put side by side; a variable of several estimators gets the dimension
    `estimator`. Damaged and foreign chunks are set aside. Raises CubeError naming these, every missing chunk and every
    outdated one, with the command that makes it anew, all in one go.
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
                read = cubes.read_or_set_aside(path, cubes.remake(path, config), expect, part.effective(chunk))
            except CubeError as error:
                problems += error.problems
                continue
            if not problems:
                with cubes.misfits_named():
                    filling.add(read)
        if not problems:
            parts[name] = filling.dataset()
    if problems:
        raise CubeError(problems)
    with cubes.misfits_named():
        together = joined(experiment, parts)
    dataset = cubes.annotate(together, experiment.family, grid_keys(experiment))
    dataset.attrs = cube_attributes(experiment, seed, versions(), cube_digest(experiment, seed))
    write_atomic(dataset, output)
