"""SGD of the feed-forward student with tied weights; its learning rate is the base rate times M^learning_rate_exponent."""

import numpy as np

from attention_limits.sequence_single_index.estimators.sgd.runs import sgd_dataset
from attention_limits.sequence_single_index.large_dimension.fixed_students_flow import (
    feed_forward_bound,
    feed_forward_escape,
    gain,
)
from attention_limits.sequence_single_index.large_dimension.start_noise import noisy_escape_step
from attention_limits.sequence_single_index.sgd.fixed_students import overlapped_start, starts, tied, warn_unstable


def run(spec, streams):
    """Escape steps, overlaps, the escape step and gain of the flow, and the mean escape step with noise (see `variables`)."""

    def rate(point):
        return point["learning_rate"] * int(point["tokens"]) ** point["learning_rate_exponent"]

    def threshold(point):
        return point.get("threshold", 2.0 / np.sqrt(point["dimension"]))

    def simulate(point, schedule, generators):
        tokens, dimension = int(point["tokens"]), int(point["dimension"])
        warn_unstable(rate(point), feed_forward_bound(tokens), f"tied student, {tokens} tokens")
        start = starts(point, dimension, 1, generators)
        return tied(tokens, dimension, rate(point), start, schedule, generators)

    def flow(point):
        tokens, dimension = int(point["tokens"]), point["dimension"]
        if point["start"] == "random":
            return {
                "flow_gain": gain(tokens, rate(point), point["learning_rate"]),
                "flow_step": np.nan,
                "noisy_step": np.nan,
            }
        start, end = overlapped_start(dimension), threshold(point)
        return {
            "flow_gain": gain(tokens, rate(point), point["learning_rate"]),
            "flow_step": feed_forward_escape(tokens, rate(point), start, end) * dimension,
            "noisy_step": noisy_escape_step(tokens, rate(point), dimension, start, end),
        }

    observables = {"overlap": lambda s, point: np.abs(s[..., 0])}
    return sgd_dataset(spec, streams, simulate, threshold, observables, flow)
