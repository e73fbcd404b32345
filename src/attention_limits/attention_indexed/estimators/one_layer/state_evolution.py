"""State evolution: the errors of the uninformed and of the informed solution against alpha, and the generalisation errors."""

import numpy as np

from attention_limits.attention_indexed.estimators.one_layer.curves import (
    ERRORS,
    channels_of,
    collect_curves,
    curve_errors,
    priors_of,
)
from attention_limits.attention_indexed.state_evolution.curve import exact_recovery, several_solutions, solve, tail

_NAMES = (*ERRORS, "recovery_threshold", "informed_begin", "uninformed_end", "mmse_tail")


def run(spec, streams):
    """Errors with their bounds, noises of the equivalent denoising, threshold and large-alpha law (see `variables`)."""
    alpha = np.array(spec["grid"]["alpha"])

    channel_of, prior_of = channels_of(spec), priors_of(spec)

    def compute(point):
        channel, prior = channel_of(point), prior_of(point)
        errors = curve_errors(channel, prior, lambda values: solve(channel, prior, values), alpha, streams)
        begin, end = several_solutions(channel, prior)
        return {
            **errors,
            "recovery_threshold": np.full_like(alpha, exact_recovery(channel, prior)),
            "informed_begin": np.full_like(alpha, begin),
            "uninformed_end": np.full_like(alpha, end),
            "mmse_tail": tail(channel, prior, alpha),
        }

    return collect_curves(spec, "alpha", _NAMES, compute)
