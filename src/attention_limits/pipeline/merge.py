"""Merge all chunks of an experiment into its cube."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from attention_limits.pipeline import cubes
from attention_limits.pipeline.combine import fill, union
from attention_limits.pipeline.digests import chunk_attributes, cube_digest, point_digest
from attention_limits.pipeline.errors import CubeError
from attention_limits.pipeline.estimator import Experiment
from attention_limits.pipeline.layout import cube_attributes, grid_keys, joined, write_atomic
from attention_limits.pipeline.project import part_folder
from attention_limits.pipeline.provenance import versions


def merge(experiment: Experiment, seed: int, results: str, output: Path, config: Sequence[str] = ()) -> None:
    """Read every chunk of an experiment below the folder `results` of its scale, combine them and write the cube.

    A variable of several estimators gets the dimension `estimator`. Damaged and foreign chunks are set aside. Raises one
    CubeError for all these chunks, all missing and all outdated ones, each with the command that makes it again (with the
    options `config`).
    """
    problems, parts = [], {}
    for name, part in experiment.estimators.items():
        points, read = point_digest(part, seed), []
        for chunk in part.chunks:
            path = Path(part_folder(results, part), f"{chunk.name}.nc")
            expect = chunk_attributes(part, chunk, points)
            try:
                read.append(cubes.read_or_set_aside(path, cubes.remake(path, config), expect, part.effective(chunk)))
            except CubeError as error:
                problems += error.problems
        if not problems:
            axes = {**part.grid, "replica": list(range(part.replicas))}
            with cubes.misfits_named():
                parts[name] = fill(read, {**union(read), **{key: np.array(values) for key, values in axes.items()}})
    if problems:
        raise CubeError(problems)
    with cubes.misfits_named():
        together = joined(experiment, parts)
    dataset = cubes.annotate(together, experiment.family, grid_keys(experiment))
    dataset.attrs = cube_attributes(experiment, seed, versions(), cube_digest(experiment, seed))
    write_atomic(dataset, output)
