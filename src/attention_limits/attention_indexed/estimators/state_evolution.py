"""State evolution: the errors of the uninformed and of the informed solution against alpha, and the generalisation errors."""

import numpy as np

from attention_limits.attention_indexed.curves import ERRORS, channels_of, collect_curves, curve_errors, priors_of
from attention_limits.attention_indexed.state_evolution import exact_recovery, solve, tail

_NAMES = (*ERRORS, "recovery_threshold", "mmse_tail")


def run(spec, streams):
    """Errors with their bounds, noises of the equivalent denoising, threshold and large-alpha law (see `variables`)."""
    alpha = np.array(spec["grid"]["alpha"])

    channel_of, prior_of = channels_of(spec), priors_of(spec)

    def compute(point):
        channel, prior = channel_of(point), prior_of(point)
        errors = curve_errors(channel, prior, lambda values: solve(channel, prior, values), alpha, streams)
        return {
            **errors,
            "recovery_threshold": np.full_like(alpha, exact_recovery(channel, prior)),
            "mmse_tail": tail(channel, prior, alpha),
        }

    return collect_curves(spec, "alpha", _NAMES, compute)
