"""Random streams that depend only on the point that is computed.

The name of a stream is (root seed, family/experiment, purpose, grid values, replica). Chunks, order of jobs and number of cores
do not enter, so a point has the same random numbers in every chunk.
"""

import hashlib

import numpy as np

from attention_limits.pipeline.base.files import canonical_json


class Streams:
    """The random streams of one experiment under one root seed (a whole number ≥ 0)."""

    def __init__(self, root_seed: int, family: str, experiment: str):
        self.root_seed = int(root_seed)
        self.experiment = f"{family}/{experiment}"

    def seed_sequence(self, purpose: str, replica: int, **point: float) -> np.random.SeedSequence:
        """The seed of one stream.

        `purpose` names one of the streams that a point needs (`"data"`, `"start"`). `point` holds the exact grid values that the
        stream depends on. Without a grid key, all values of this key have the same random numbers.
        """
        exact = {key: float(value).hex() for key, value in point.items()}
        name = canonical_json([self.experiment, purpose, exact, int(replica)])
        words = np.frombuffer(hashlib.sha256(name.encode()).digest(), dtype="<u4")
        return np.random.SeedSequence(entropy=self.root_seed, spawn_key=tuple(int(word) for word in words))

    def generator(self, purpose: str, replica: int, **point: float) -> np.random.Generator:
        """A fresh generator at the beginning of one stream; arguments as for `seed_sequence`."""
        return np.random.Generator(np.random.SFC64(self.seed_sequence(purpose, replica, **point)))
