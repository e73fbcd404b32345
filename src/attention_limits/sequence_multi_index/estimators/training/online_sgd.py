"""Stochastic gradient descent with a fresh batch at every step, and the teachers and starts of the data that it reads."""

import numpy as np

from attention_limits.sequence_multi_index.estimators.training.batch_reuse_sgd import block_sizes, output_of, simulate
from attention_limits.sequence_multi_index.training.gradient_descent import Block


def run(spec, streams):
    """Cosines, norms, overlaps and errors (see `variables`)."""
    solver = spec["solver"]

    def blocks(link, alpha, sequences, outputs, teachers):
        generators = [streams.generator("fresh sequences", replica, alpha=alpha) for replica in spec["replicas"]]
        noise = [streams.generator("fresh output noise", replica, alpha=alpha) for replica in spec["replicas"]]
        for _, count in block_sizes(solver):
            shape = (count * solver.batch, *sequences.shape[2:])
            fresh = np.stack([generator.standard_normal(shape, dtype=np.float32) for generator in generators])
            made = [output_of(link, *each) for each in zip(fresh, teachers, noise, strict=True)]
            order = np.arange(shape[0], dtype=np.int32).reshape(1, count, -1)
            yield Block(fresh, np.stack(made), np.repeat(order, len(fresh), axis=0))

    return simulate(spec, streams, blocks)
