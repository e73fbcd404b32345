"""Error of the two limits of many rescaled attention layers; one replica is one set of random fields.

The grid keys `ratio` and `depth` together set the skip strength c = depth / ratio.
"""

import numpy as np
import xarray as xr

from attention_limits.pipeline.progress import progress
from attention_limits.sequence_multi_index.links.large_depth import depth_errors


def run(spec, streams):
    """Mean squared differences of the outputs (see `variables`)."""
    model, samples = spec["model"], spec["solver"]["samples"]
    ratios, depths, replicas = spec["grid"]["ratio"], spec["grid"]["depth"], spec["replicas"]
    committee, limit = np.empty((2, len(ratios), len(depths), len(replicas)))
    points = list(np.ndindex(committee.shape))
    for i, j, k in progress(points, len(points), spec["estimator"]):
        generator = streams.generator("fields", replicas[k], ratio=ratios[i], depth=depths[j])
        first, second = depth_errors(ratios[i], depths[j], model["beta"], model["tokens"], samples, generator)
        committee[i, j, k], limit[i, j, k] = first.mean(), second.mean()
    dims = ("ratio", "depth", "replica")
    return xr.Dataset(
        {"committee_error": (dims, committee), "large_depth_error": (dims, limit)},
        {"ratio": ratios, "depth": depths, "replica": replicas},
    )
