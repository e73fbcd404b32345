"""Merge all chunks of an experiment into its cube."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from attention_limits.pipeline import cubes
from attention_limits.pipeline.combine import fill, union
from attention_limits.pipeline.digests import chunk_attributes, cube_digest, point_digest
from attention_limits.pipeline.errors import CubeError
from attention_limits.pipeline.estimator import Experiment
from attention_limits.pipeline.layout import cube_of, write_atomic
from attention_limits.pipeline.project import part_folder
from attention_limits.pipeline.provenance import versions


def merge(experiment: Experiment, seed: int, results: str, output: Path, config: Sequence[str] = ()) -> None:
    """Read every chunk of an experiment below the folder `results` of its scale, combine them and write the cube.

    A variable of several estimators gets the dimension `estimator`. Raises one CubeError for all missing, damaged and outdated
    chunks, each with the command that makes it again (with the options `config`).
    """
    problems, parts = [], {}
    for name, part in experiment.estimators.items():
        points, read = point_digest(part, seed), []
        for chunk in part.chunks:
            path = Path(part_folder(results, part), f"{chunk.name}.nc")
            try:
                read.append(cubes.read(path, cubes.remake(path, config), chunk_attributes(part, chunk, points)))
            except CubeError as error:
                problems += error.problems
        if not problems:
            axes = {**part.grid, "replica": list(range(part.replicas))}
            parts[name] = fill(read, {**union(read), **{key: np.array(values) for key, values in axes.items()}})
    if problems:
        raise CubeError(problems)
    write_atomic(cube_of(experiment, parts, seed, versions(), cube_digest(experiment, seed)), output)
