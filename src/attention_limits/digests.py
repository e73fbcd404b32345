"""What each file of the results hangs on: the digests that tell Snakemake, and a reader, whether it is current.

Nothing here imports numpy: the workflow computes all digests at each start.
"""

from attention_limits.files import digest
from attention_limits.provenance import PACKAGE, code_digest
from attention_limits.spec import Estimator, Experiment
from attention_limits.variables.record import registry_module


def chunk_code(estimator: Estimator) -> str:
    """Digest of all code that decides the numbers of an estimator: its kind and the random streams.

    Raises ModuleNotFoundError when the kind has no module.
    """
    return code_digest(estimator.module, f"{PACKAGE}.rng")


def cube_digest(experiment: Experiment, seed: int) -> str:
    """What decides the content of a cube: its specification, texts, seed and all code on the way."""
    return digest(
        [
            experiment.effective(),
            experiment.title,
            experiment.description,
            seed,
            [chunk_code(part) for part in experiment.estimators.values()],
            code_digest(f"{PACKAGE}.merge", registry_module(experiment.family)),
        ]
    )
