"""All chunks of an experiment into its one cube."""

from pathlib import Path

import numpy as np

from attention_limits import cubes
from attention_limits.chunks import common_attributes
from attention_limits.combine import fill, join, union
from attention_limits.digests import chunk_attributes, cube_digest
from attention_limits.errors import CubeError
from attention_limits.files import canonical_json, digest
from attention_limits.spec import Experiment


def merge(experiment: Experiment, seed: int, chunks: Path, output: Path) -> None:
    """Read every chunk below `chunks`/<estimator>/, combine them and write the cube.

    Chunks of one estimator are put side by side; a variable of several estimators gets the dimension
    `estimator`. Raises CubeError naming every missing, damaged or foreign chunk with the command that makes it
    anew, all in one go.
    """
    problems, parts = [], {}
    for name, part in experiment.estimators.items():
        sound = []
        for chunk in part.chunks:
            path = chunks / name / f"{chunk.name}.nc"
            repair = f"rm -f '{path}' && snakemake '{path}' --config scale={experiment.scale} seed={seed}"
            expect = chunk_attributes(part, chunk, seed)
            try:
                sound.append(cubes.read(path, repair, expect))
            except CubeError as error:
                problems += error.problems
        if not problems:
            coordinates = {**union(sound), **part.axes()}
            parts[name] = fill(sound, {key: np.array(values) for key, values in coordinates.items()})
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
