"""State evolution: the Bayes-optimal error against alpha / rho, down to the limit rho -> 0."""

import numpy as np

from attention_limits.attention_indexed.curves import channel_of, collect_curves
from attention_limits.attention_indexed.state_evolution import error_bound, small_width, solve, weak_recovery

_NAMES = ("mmse", "mmse_error", "weak_threshold")


def run(spec, streams):
    """Error with its bound, and the threshold of weak recovery at rho = 0 (see `variables`)."""
    rescaled = np.array(spec["grid"]["rescaled_alpha"])

    def compute(point):
        channel, ratio = channel_of(point), point["ratio"]

        def errors(values):
            return small_width(channel, values) if ratio == 0 else solve(channel, ratio, values * ratio).mmse

        bound = error_bound(channel, errors, rescaled)
        return dict(zip(_NAMES, (errors(rescaled), bound, np.full_like(rescaled, weak_recovery(channel))), strict=True))

    return collect_curves(spec, "rescaled_alpha", _NAMES, compute)
