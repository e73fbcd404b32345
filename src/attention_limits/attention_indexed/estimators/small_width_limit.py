"""State evolution: the Bayes-optimal error and the generalisation errors against alpha / rho, down to the limit rho -> 0."""

import numpy as np

from attention_limits.attention_indexed.curves import ERRORS, channels_of, collect_curves, curve_errors
from attention_limits.attention_indexed.priors import Wishart
from attention_limits.attention_indexed.state_evolution import small_width, solve, weak_recovery


def run(spec, streams):
    """Errors with their bounds, and the threshold of weak recovery at rho = 0 (see `variables`)."""
    rescaled = np.array(spec["grid"]["rescaled_alpha"])

    channel_of = channels_of(spec)

    def compute(point):
        channel, ratio = channel_of(point), point["ratio"]

        def errors(values):
            return small_width(channel, values) if ratio == 0 else solve(channel, ratio, values * ratio).mmse

        found = curve_errors(channel, Wishart(ratio), errors, rescaled, streams)
        return {**found, "weak_threshold": np.full_like(rescaled, weak_recovery(channel))}

    return collect_curves(spec, "rescaled_alpha", (*ERRORS, "weak_threshold"), compute)
