"""Stochastic gradient descent whose every batch is fresh, with the teachers and starts of the data it reads."""

import numpy as np

from attention_limits.sequence_multi_index.estimators.batch_reuse_sgd import block_sizes, simulate
from attention_limits.sequence_multi_index.gaussian_sequences import local_fields
from attention_limits.sequence_multi_index.gradient_descent import Block


def run(spec, streams):
    """Cosines, norms and training loss by batch (see `variables`)."""
    solver = spec["solver"]

    def blocks(link, alpha, sequences, teachers):
        generators = [streams.generator("fresh sequences", replica, alpha=alpha) for replica in spec["replicas"]]
        for _, count in block_sizes(solver):
            shape = (count * solver["batch"], *sequences.shape[2:])
            fresh = np.stack([generator.standard_normal(shape, dtype=np.float32) for generator in generators])
            outputs = [link.forward(local_fields(x, teacher)) for x, teacher in zip(fresh, teachers, strict=True)]
            order = np.arange(shape[0], dtype=np.int32).reshape(1, count, -1)
            yield Block(fresh, np.stack(outputs).astype(np.float32), np.repeat(order, len(fresh), axis=0))

    return simulate(spec, streams, blocks)
