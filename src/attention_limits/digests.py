"""What each file of the results depends on: digests that show Snakemake, and a reader, whether it is current.

Nothing here imports numpy before a file is looked into: the workflow computes all digests at each start.
"""

import itertools
from pathlib import Path

from attention_limits.checking import family_code_files, family_code_modules
from attention_limits.damage import UNREADABLE
from attention_limits.files import digest
from attention_limits.grid import Chunk
from attention_limits.provenance import PACKAGE, code_digest, imported_modules
from attention_limits.spec import Estimator, Experiment
from attention_limits.variables.record import SHARED_REGISTRY, registry_module


def chunk_code(estimator: Estimator) -> str:
    """Digest of all code that decides the numbers of an estimator: its kind, the random streams, the data it reads.

    The bytes of required files, and what they import from this package, belong to it. Raises ModuleNotFoundError when the
    kind has no module, and OSError when a required file is missing.
    """
    files = [*family_code_files(estimator), *(estimator.project / name for name in estimator.requires)]
    modules = {*family_code_modules(estimator), *(name for file in files for name in imported_modules(file))}
    own = code_digest(estimator.module, f"{PACKAGE}.rng", *modules, extra_files=files)
    return own if estimator.reads is None else digest([own, chunk_code(estimator.reads)])


def chunk_attributes(estimator: Estimator, chunk: Chunk, point_digest: str) -> dict[str, str]:
    """The attributes by which the file of a chunk is known to be current; `point_digest` is that of `point_digest()`."""
    return {"spec_digest": digest(estimator.effective(chunk)), "point_digest": point_digest}


def point_digest(estimator: Estimator, seed: int) -> str:
    """What decides the numbers of an estimator at a point. It is the same for all chunks, so it is asked for once."""
    return estimator.point_digest(seed, chunk_code(estimator))


def held_points(folder: Path, grid: list[str], point_digest: str) -> set[tuple[float, ...]]:
    """The points, (grid values, replica), that the chunk files of a folder hold under a digest; data are not looked at."""
    held = set()
    # Not what a killed job has left half written.
    for path in sorted(folder.glob("[!.]*.nc")):
        import netCDF4

        try:
            with netCDF4.Dataset(path) as opened:
                if getattr(opened, "point_digest", None) == point_digest:
                    held |= set(itertools.product(*(opened[key][:].tolist() for key in (*grid, "replica"))))
        except UNREADABLE:
            continue
    return held


def figure_digest(module: str, cubes: dict[str, str]) -> str:
    """What decides the files of a figure: the code that draws it, and the digests of its cubes by their names."""
    return digest([code_digest(module), cubes])


def cube_digest(experiment: Experiment, seed: int) -> str:
    """What decides the bytes of a cube: its specification, texts, seed, the code of its chunks and that of the layout."""
    return digest(
        [
            experiment.effective(),
            experiment.title,
            experiment.description,
            seed,
            [chunk_code(part) for part in experiment.estimators.values()],
            code_digest(*cube_modules(experiment.family)),
        ]
    )


def cube_modules(family: str) -> list[str]:
    """The modules that decide, with what they import, the bytes of a cube of given chunks."""
    return [f"{PACKAGE}.layout", SHARED_REGISTRY, registry_module(family)]
