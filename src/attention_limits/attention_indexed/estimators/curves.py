"""What the kinds of theory share: whole curves along one key of the grid, and the channel of a specification."""

import itertools

import numpy as np

from attention_limits.attention_indexed.channel import Channel, make_channel
from attention_limits.pipeline.progress import progress


def channel_at(point) -> Channel:
    """The channel of a point."""
    return make_channel(point["channel"], point["tokens"], point["beta"])


def curves(spec, compute, key, count) -> tuple[np.ndarray, dict]:
    """Arrays (count, grid..., replica) from `compute(point) -> (count, n)` along the n values of `key`, and the axes.

    `point` holds the parameters of the model but `key`.
    """
    axes = {**spec["grid"], "replica": spec["replicas"]}
    others = {name: values for name, values in axes.items() if name != key}
    result = np.empty((count, *(len(values) for values in others.values()), len(axes[key])))
    indices = list(itertools.product(*(range(len(values)) for values in others.values())))
    for index in progress(indices, len(indices), spec["estimator"]):
        scanned = {name: values[i] for i, (name, values) in zip(index, others.items(), strict=True)}
        result[(slice(None), *index)] = compute({**spec["model"], **scanned})
    return np.moveaxis(result, -1, 1 + list(axes).index(key)), axes
