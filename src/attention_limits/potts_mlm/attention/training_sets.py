"""Sequences as all learners of an experiment share them."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from attention_limits.pipeline.base.streams import Streams
from attention_limits.potts_mlm.attention.factored import losses


def training_set(streams: Streams, data: xr.Dataset, replica: int, at: Mapping[str, float], count: int) -> np.ndarray:
    """`count` training sequences of `data`, drawn without repetition; a larger set contains the smaller ones.

    `streams` draws them for a `replica`. `at` holds the grid values of the learner: sets at different distances are independent.
    """
    kept = {key: value for key, value in at.items() if key == "distance"}
    order = streams.generator("subset", replica, **kept).permutation(len(data.training_states))
    return data.training_states.values[order[:count]]


def true_couplings(data: xr.Dataset) -> np.ndarray:
    """J (L, L) of `data`; missing where the couplings are unknown, as for an alignment."""
    sites = data.sizes["site"]
    return data.couplings.values if "couplings" in data else np.full((sites, sites), np.nan)


def optimal_loss(data: xr.Dataset, test) -> float:
    """Mean loss of the true conditionals of `data` on the sequences `test` (n, L), in nats; NaN where they are unknown."""
    if "couplings" not in data:
        return np.nan
    return float(losses(float(data.beta) * data.couplings.values, data.color_couplings.values, test).mean())


def sites_from_one(dataset: xr.Dataset) -> xr.Dataset:
    """`dataset` with its sites numbered 1, 2, 3, ..."""
    own = [dim for dim in ("site", "site_other") if dim in dataset.sizes]
    return dataset.assign_coords({dim: np.arange(1, dataset.sizes[dim] + 1) for dim in own})
