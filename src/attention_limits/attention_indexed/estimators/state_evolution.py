"""Bayes-optimal error against alpha."""

import numpy as np
import xarray as xr

from attention_limits.attention_indexed.estimators.curves import channel_at, curves
from attention_limits.attention_indexed.state_evolution import error_bound, exact_recovery, hardmax_tail, solve

_NAMES = ("mmse", "mmse_error", "noise", "recovery_threshold", "mmse_tail")


def run(spec, streams):
    """Error with its bound, noise of the equivalent denoising, threshold and large-alpha law (see `variables`)."""

    def compute(point):
        channel = channel_at(point)
        alpha, ratio = np.array(spec["grid"]["alpha"]), point["ratio"]
        found = solve(channel, ratio, alpha)
        tail = np.full_like(alpha, np.nan)
        if point["channel"] == "hardmax":
            tail[alpha > 0] = hardmax_tail(ratio, alpha[alpha > 0], point["tokens"])
        bound = error_bound(channel, lambda values: solve(channel, ratio, values).mmse, alpha)
        threshold = np.full_like(alpha, exact_recovery(channel, ratio))
        return [found.mmse, bound, found.noise, threshold, tail]

    arrays, axes = curves(spec, compute, "alpha", len(_NAMES))
    return xr.Dataset({name: (tuple(axes), array) for name, array in zip(_NAMES, arrays, strict=True)}, axes)
