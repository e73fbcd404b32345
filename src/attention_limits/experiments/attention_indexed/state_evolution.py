"""Bayes-optimal error against alpha; a replica is one set of samples where the channel has to be sampled, else there is one."""

import numpy as np
import xarray as xr

from attention_limits.attention_indexed.state_evolution import exact_recovery, hardmax_tail, solve
from attention_limits.experiments.attention_indexed.curves import channel_at, curves

_NAMES = ("mmse", "noise", "recovery_threshold", "mmse_tail")


def run(spec, streams):
    """Error, noise of the equivalent denoising, threshold and large-alpha law (see `variables`)."""

    def compute(point, replica):
        channel = channel_at(spec, point, replica, streams)
        alpha, ratio = np.array(spec["grid"]["alpha"]), point["ratio"]
        found = solve(channel, ratio, alpha)
        tail = np.full_like(alpha, np.nan)
        if point["channel"] == "hardmax" and point["tokens"] == 2:
            tail[alpha > 0] = hardmax_tail(ratio, alpha[alpha > 0])
        threshold = np.full_like(alpha, exact_recovery(channel, ratio))
        return [found.mmse, found.noise, threshold, tail]

    arrays, axes = curves(spec, compute, "alpha", len(_NAMES))
    return xr.Dataset({name: (tuple(axes), array) for name, array in zip(_NAMES, arrays, strict=True)}, axes)
