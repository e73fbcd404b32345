"""State evolution: the Bayes-optimal error against alpha."""

import numpy as np

from attention_limits.attention_indexed.curves import channel_of, collect_curves
from attention_limits.attention_indexed.state_evolution import error_bound, exact_recovery, solve, tail

_NAMES = ("mmse", "mmse_error", "noise", "recovery_threshold", "mmse_tail")


def run(spec, streams):
    """Error with its bound, noise of the equivalent denoising, threshold and large-alpha law (see `variables`)."""
    alpha = np.array(spec["grid"]["alpha"])

    def compute(point):
        channel, ratio = channel_of(point), point["ratio"]
        found = solve(channel, ratio, alpha)
        bound = error_bound(channel, lambda values: solve(channel, ratio, values).mmse, alpha)
        threshold = np.full_like(alpha, exact_recovery(channel, ratio))
        return dict(zip(_NAMES, (found.mmse, bound, found.noise, threshold, tail(channel, ratio, alpha)), strict=True))

    return collect_curves(spec, "alpha", _NAMES, compute)
