"""Sequences as all learners of an experiment share them."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from attention_limits.pipeline.streams import Streams


def training_set(streams: Streams, data: xr.Dataset, replica: int, at: Mapping[str, float], count: int) -> np.ndarray:
    """`count` training sequences of `data`, drawn without repetition; a larger set contains the smaller ones.

    `streams` draws them for a `replica`. `at` holds the grid values of the learner: sets at different distances are independent.
    """
    kept = {key: value for key, value in at.items() if key == "distance"}
    order = streams.generator("subset", replica, **kept).permutation(len(data.training_states))
    return data.training_states.values[order[:count]]


def sites_from_one(dataset: xr.Dataset) -> xr.Dataset:
    """`dataset` with its sites numbered 1, 2, 3, ..."""
    own = [dim for dim in ("site", "site_other") if dim in dataset.sizes]
    return dataset.assign_coords({dim: np.arange(1, dataset.sizes[dim] + 1) for dim in own})
