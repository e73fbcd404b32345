"""Whole curves along one key of the grid: the solver of a curve brackets all its points at once."""

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from attention_limits.attention_indexed.channels.loading import load_channel
from attention_limits.attention_indexed.channels.protocol import Channel
from attention_limits.attention_indexed.model.score_law import SCRAMBLINGS, row_nodes
from attention_limits.attention_indexed.priors.loading import load_prior
from attention_limits.attention_indexed.priors.prior import Prior
from attention_limits.attention_indexed.state_evolution.bounded_solutions import bounded
from attention_limits.attention_indexed.state_evolution.generalization import output_errors
from attention_limits.pipeline.cubes.points import collect

# Variables of every learning curve.
ERRORS = (
    "mmse",
    "mmse_error",
    "error_bayes",
    "error_bayes_uncertainty",
    "error_plug_in",
    "error_plug_in_uncertainty",
    "mmse_informed",
    "mmse_informed_error",
    "noise",
    "noise_informed",
    "unique",
)


def channels_of(spec: Mapping) -> Callable[[Mapping], Channel]:
    """point -> the channel of a point, which holds the parameters of the model by name; `spec` is what `run` gets.

    A channel is made once for each number of tokens and noise: it may hold a table of its information.
    """
    made = {}

    def channel_of(point):
        key = point["tokens"], point["output_noise"]
        if key not in made:
            made[key] = load_channel(point, spec["project"])
        return made[key]

    return channel_of


def priors_of(spec: Mapping) -> Callable[[Mapping], Prior]:
    """point -> the law of S of a point; `spec` is what `run` gets. A prior may hold a table: one for each ratio."""
    made = {}

    def prior_of(point):
        if point["ratio"] not in made:
            made[point["ratio"]] = load_prior(point, spec["project"])
        return made[point["ratio"]]

    return prior_of


def curve_errors(channel: Channel, prior: Prior, compute, samples: np.ndarray, streams) -> dict[str, np.ndarray]:
    """The variables `ERRORS` along the curve compute(samples) (n,), the `Solutions` of `channel` at the law `prior` of S.

    Errors are missing where the channel does not know its information. The errors of the output are those of the uninformed
    solution. All points share their nodes, from `streams` (pipeline.streams.Streams): these errors are smooth along the curve.
    """
    found = bounded(channel, compute, samples, prior.Q)
    generators = [streams.generator("scores", part) for part in range(SCRAMBLINGS)]
    nodes = row_nodes(channel.tokens, generators, channel.law)
    outputs = output_errors(channel, prior.Q - 1.0, found.mmse, found.bound, nodes)
    return {
        "mmse": found.mmse,
        "mmse_error": found.bound,
        "error_bayes": outputs.bayes,
        "error_bayes_uncertainty": outputs.bayes_uncertainty,
        "error_plug_in": outputs.plug_in,
        "error_plug_in_uncertainty": outputs.plug_in_uncertainty,
        "mmse_informed": found.informed,
        "mmse_informed_error": found.informed_bound,
        "noise": found.noise,
        "noise_informed": found.informed_noise,
        "unique": found.unique,
    }


def collect_curves(
    spec: dict,
    key: str,
    names: tuple[str, ...],
    compute: Callable[[dict], Mapping],
    further: Mapping[str, np.ndarray] | None = None,
    of_further: tuple[str, ...] = (),
) -> xr.Dataset:
    """The dataset of `compute(point) -> {variable: array (n,)}` along the n values of `key`, with the variables `names`.

    `spec` is the specification that `run` gets; `point` holds the parameters of the model except `key`. The variables
    `of_further` are arrays (n, m) with one more dimension, that of the coordinate values (m,) in `further`.
    """
    others, coordinates = {name: values for name, values in spec["grid"].items() if name != key}, dict(further or {})
    found = collect(
        {**spec, "grid": others},
        lambda at, replica: compute({**spec["model"], **at}),
        {**dict.fromkeys(names, (key,)), **dict.fromkeys(of_further, (key, *coordinates))},
        {key: spec["grid"][key], **coordinates},
    )
    return found.transpose(*spec["grid"], "replica", ...)
