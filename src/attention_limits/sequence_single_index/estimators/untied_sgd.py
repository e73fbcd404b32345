"""SGD of the feed-forward student in which each token has its own weights."""

import numpy as np

from attention_limits.sequence_single_index.flow import feed_forward_bound
from attention_limits.sequence_single_index.reduced_sgd import overlapped_start, untied, warn_unstable
from attention_limits.sequence_single_index.sgd_runs import sgd_dataset


def _overlap(state):
    """sqrt(sum m_l^2 / L) of states (..., 2 L)."""
    tokens = state.shape[-1] // 2
    return np.sqrt(np.sum(state[..., :tokens] ** 2, axis=-1) / tokens)


def run(spec, streams):
    """Escape steps and overlaps (see `variables`)."""

    def simulate(point, schedule, generator):
        tokens, dimension = int(point["tokens"]), int(point["dimension"])
        warn_unstable(point["learning_rate"], feed_forward_bound(tokens), f"untied student, {tokens} tokens")
        return untied(tokens, dimension, point["learning_rate"], overlapped_start(dimension), schedule, generator)

    return sgd_dataset(spec, streams, simulate, lambda point: 2.0 / np.sqrt(point["dimension"]), {"overlap": _overlap})
