"""Bayes-optimal error against alpha / rho, down to the limit rho -> 0; replicas as for `state_evolution`."""

import numpy as np
import xarray as xr

from attention_limits.attention_indexed.state_evolution import small_width, solve, weak_recovery
from attention_limits.experiments.attention_indexed.curves import channel_at, curves


def run(spec, streams):
    """Error, and the threshold of weak recovery at rho = 0 (see `variables`)."""

    def compute(point, replica):
        channel = channel_at(spec, point, replica, streams)
        rescaled, ratio = np.array(spec["grid"]["rescaled_alpha"]), point["ratio"]
        error = small_width(channel, rescaled) if ratio == 0 else solve(channel, ratio, rescaled * ratio).mmse
        return [error, np.full_like(rescaled, weak_recovery(channel))]

    (error, threshold), axes = curves(spec, compute, "rescaled_alpha", 2)
    return xr.Dataset({"mmse": (tuple(axes), error), "weak_threshold": (tuple(axes), threshold)}, axes)
