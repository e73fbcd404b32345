"""Whole curves along one key of the grid: the solver of a curve brackets all its points at once."""

from collections.abc import Callable, Mapping

import xarray as xr

from attention_limits.attention_indexed.channel import Channel, make_channel
from attention_limits.pipeline.points import collect


def channel_of(point: Mapping) -> Channel:
    """The channel of a point, which holds the parameters of the model by name."""
    return make_channel(point["channel"], point["tokens"], point["beta"])


def collect_curves(spec: dict, key: str, names: tuple[str, ...], compute: Callable[[dict], Mapping]) -> xr.Dataset:
    """The dataset of `compute(point) -> {variable: array (n,)}` along the n values of `key`, with the variables `names`.

    `spec` is the specification that `run` gets; `point` holds the parameters of the model except `key`.
    """
    others = {name: values for name, values in spec["grid"].items() if name != key}
    found = collect(
        {**spec, "grid": others},
        lambda at, replica: compute({**spec["model"], **at}),
        dict.fromkeys(names, (key,)),
        {key: spec["grid"][key]},
    )
    return found.transpose(*spec["grid"], "replica")
