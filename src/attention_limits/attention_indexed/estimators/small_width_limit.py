"""Bayes-optimal error against alpha / rho, down to the limit rho -> 0."""

import numpy as np
import xarray as xr

from attention_limits.attention_indexed.estimators.curves import channel_at, curves
from attention_limits.attention_indexed.state_evolution import error_bound, small_width, solve, weak_recovery

_NAMES = ("mmse", "mmse_error", "weak_threshold")


def run(spec, streams):
    """Error with its bound, and the threshold of weak recovery at rho = 0 (see `variables`)."""

    def compute(point):
        channel = channel_at(point)
        rescaled, ratio = np.array(spec["grid"]["rescaled_alpha"]), point["ratio"]

        def errors(values):
            return small_width(channel, values) if ratio == 0 else solve(channel, ratio, values * ratio).mmse

        bound = error_bound(channel, errors, rescaled)
        return [errors(rescaled), bound, np.full_like(rescaled, weak_recovery(channel))]

    arrays, axes = curves(spec, compute, "rescaled_alpha", len(_NAMES))
    return xr.Dataset({name: (tuple(axes), array) for name, array in zip(_NAMES, arrays, strict=True)}, axes)
