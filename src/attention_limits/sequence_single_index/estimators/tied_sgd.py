"""SGD of the feed-forward student with tied weights; its learning rate is the base rate times L^learning_rate_exponent."""

import numpy as np

from attention_limits.sequence_single_index.flow import feed_forward_bound, feed_forward_escape, gain
from attention_limits.sequence_single_index.reduced_sgd import overlapped_start, tied, warn_unstable
from attention_limits.sequence_single_index.sgd_runs import sgd_dataset


def run(spec, streams):
    """Escape steps, overlaps, and the escape step and gain that the flow predicts (see `variables`)."""

    def rate(point):
        return point["learning_rate"] * int(point["tokens"]) ** point["learning_rate_exponent"]

    def threshold(point):
        return point.get("threshold", 2.0 / np.sqrt(point["dimension"]))

    def simulate(point, schedule, generators):
        tokens, dimension = int(point["tokens"]), int(point["dimension"])
        warn_unstable(rate(point), feed_forward_bound(tokens), f"tied student, {tokens} tokens")
        return tied(tokens, dimension, rate(point), overlapped_start(dimension), schedule, generators)

    def flow(point):
        tokens, dimension = int(point["tokens"]), point["dimension"]
        tau = feed_forward_escape(tokens, rate(point), overlapped_start(dimension), threshold(point))
        return {"flow_gain": gain(tokens, rate(point), point["learning_rate"]), "flow_step": tau * dimension}

    observables = {"overlap": lambda s: np.abs(s[..., 0])}
    return sgd_dataset(spec, streams, simulate, threshold, observables, flow)
