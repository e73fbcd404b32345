"""SGD of the feed-forward student in which each token has its own weights."""

import numpy as np

from attention_limits.sequence_single_index.estimators.sgd.runs import sgd_dataset
from attention_limits.sequence_single_index.large_dimension.fixed_students_flow import (
    feed_forward_bound,
    feed_forward_escape,
)
from attention_limits.sequence_single_index.large_dimension.start_noise import noisy_escape_step
from attention_limits.sequence_single_index.sgd.fixed_students import overlapped_start, starts, untied, warn_unstable


def _overlap(state, point):
    """sqrt(sum m_l^2 / M) of states (..., 2 M)."""
    tokens = state.shape[-1] // 2
    return np.sqrt(np.sum(state[..., :tokens] ** 2, axis=-1) / tokens)


def run(spec, streams):
    """Escape steps, overlaps, the escape step of the flow, and the mean escape step with noise (see `variables`)."""

    def threshold(point):
        return point.get("threshold", 2.0 / np.sqrt(point["dimension"]))

    def flow(point):
        if point["start"] == "random":
            return {"flow_step": np.nan, "noisy_step": np.nan}
        tokens, dimension = int(point["tokens"]), point["dimension"]
        start = overlapped_start(dimension)
        where = tokens, point["learning_rate"]
        tau = feed_forward_escape(*where, start, threshold(point), untied=True)
        mean = noisy_escape_step(*where, dimension, start, threshold(point), untied=True)
        return {"flow_step": tau * dimension, "noisy_step": mean}

    def simulate(point, schedule, generators):
        tokens, dimension = int(point["tokens"]), int(point["dimension"])
        warn_unstable(point["learning_rate"], feed_forward_bound(tokens), f"untied student, {tokens} tokens")
        start = starts(point, dimension, tokens, generators)
        return untied(tokens, dimension, point["learning_rate"], start, schedule, generators)

    return sgd_dataset(spec, streams, simulate, threshold, {"overlap": _overlap}, flow)
