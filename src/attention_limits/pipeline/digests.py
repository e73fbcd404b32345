"""Digests of everything that a file of the results depends on. Snakemake and the readers of a file compare them.

Nothing here imports numpy: the workflow computes all digests at each start.
"""

from attention_limits.pipeline.estimator import Estimator, Experiment
from attention_limits.pipeline.files import digest
from attention_limits.pipeline.grid import Chunk
from attention_limits.pipeline.provenance import PACKAGE, code_digest, imported_modules
from attention_limits.pipeline.registry import registry_module


def chunk_code(part: Estimator) -> str:
    """Digest of all code that decides the numbers of an estimator: its module, the random streams, the data it reads.

    It includes the bytes of required files and the modules of this package that they import. Raises ModuleNotFoundError when the
    estimator has no module, and OSError when a required file is missing.
    """
    files = [*part.specification.code_files(part), *(part.project / name for name in part.requires)]
    modules = {*part.specification.code_modules(part), *(name for file in files for name in imported_modules(file))}
    own = code_digest(part.module, f"{PACKAGE}.pipeline.streams", *modules, extra_files=files)
    return own if part.reads is None else digest([own, chunk_code(part.reads)])


def chunk_attributes(part: Estimator, chunk: Chunk, points: str) -> dict[str, str]:
    """The attributes that the file of a chunk has if it is current; `points` is the result of `point_digest`."""
    return {"spec_digest": digest(part.effective(chunk)), "point_digest": points}


def point_digest(part: Estimator, seed: int) -> str:
    """Digest of everything that decides the numbers of an estimator at a point; the same for all chunks."""
    return part.point_digest(seed, chunk_code(part))


def cube_digest(experiment: Experiment, seed: int) -> str:
    """Digest of a cube: its specification, texts, seed, the code of its chunks and that of the layout."""
    codes = [chunk_code(part) for part in experiment.estimators.values()]
    layout = code_digest(f"{PACKAGE}.pipeline.layout", registry_module(experiment.family))
    return digest([experiment.effective(), experiment.title, experiment.description, seed, codes, layout])
