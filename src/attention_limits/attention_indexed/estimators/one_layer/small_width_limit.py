"""State evolution: errors of both solutions and generalisation errors against alpha / rho, down to the limit rho -> 0."""

import numpy as np

from attention_limits.attention_indexed.estimators.one_layer.curves import (
    ERRORS,
    channels_of,
    collect_curves,
    curve_errors,
    priors_of,
)
from attention_limits.attention_indexed.state_evolution.curve import small_width, solve, weak_recovery


def run(spec, streams):
    """Errors with their bounds, and the threshold of weak recovery at rho = 0 (see `variables`)."""
    rescaled = np.array(spec["grid"]["rescaled_alpha"])

    channel_of, prior_of = channels_of(spec), priors_of(spec)

    def compute(point):
        channel, prior, ratio = channel_of(point), prior_of(point), point["ratio"]

        def errors(values):
            return small_width(channel, values) if ratio == 0 else solve(channel, prior, values * ratio)

        found = curve_errors(channel, prior, errors, rescaled, streams)
        return {**found, "weak_threshold": np.full_like(rescaled, weak_recovery(channel))}

    return collect_curves(spec, "rescaled_alpha", (*ERRORS, "weak_threshold"), compute)
