"""SGD of the feed-forward student with tied weights; its learning rate is the base rate times L^learning_rate_exponent."""

import numpy as np

from attention_limits.experiments.sequence_single_index.sgd_runs import sgd_dataset
from attention_limits.sequence_single_index.flow import feed_forward_bound
from attention_limits.sequence_single_index.reduced_sgd import overlapped_start, tied, warn_unstable


def run(spec, streams):
    """Escape steps and overlaps (see `variables`)."""

    def simulate(point, schedule, generator):
        tokens, dimension = int(point["tokens"]), int(point["dimension"])
        learning_rate = point["learning_rate"] * tokens ** point["learning_rate_exponent"]
        warn_unstable(learning_rate, feed_forward_bound(tokens), f"tied student, {tokens} tokens")
        return tied(tokens, dimension, learning_rate, overlapped_start(dimension), schedule, generator)

    return sgd_dataset(
        spec,
        streams,
        simulate,
        lambda point: 2.0 / np.sqrt(point["dimension"]),
        {"overlap": lambda s: np.abs(s[..., 0])},
    )
