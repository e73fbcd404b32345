"""The link of a grid point, with the channel and the nodes of a replica; `spec` is the specification that `run` gets."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from attention_limits.numerics.probability.gaussian_nodes import GaussianNodes
from attention_limits.pipeline.cubes.points import points
from attention_limits.sequence_multi_index.channels.averages import output_nodes
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.priors.loading import load_prior
from attention_limits.sequence_multi_index.priors.prior import Prior

# Keys of a grid that are no parameters of the link.
NOT_OF_THE_LINK = frozenset({"alpha", "held"})


def link_at(spec: dict, at: Mapping | None = None) -> Link:
    """The link of `spec` at the grid values `at`, by default those of the first point."""
    at = points(spec)[0][0] if at is None else at
    scanned = {key: value for key, value in at.items() if key not in NOT_OF_THE_LINK}
    return load_link({**spec["model"], **scanned}, Path(spec["project"]))


def prior_of(spec: dict, link: Link, at: Mapping) -> Prior:
    """The prior of the weights of `spec` at the grid values `at`, for the rows of a `link`."""
    return load_prior({**spec["model"], **at}, link.rows, Path(spec["project"]))


def completed(solver, **constants) -> SimpleNamespace:
    """The section `solver` of a specification with the constants of an estimator, which the section does not have."""
    return SimpleNamespace(**vars(solver), **constants)


def channel_at(spec: dict, streams, at: Mapping, replica: int, isotropic=False) -> tuple[Channel, GaussianNodes]:
    """The channel of `spec` at the grid values `at`, and the nodes of a `replica` from `streams`, which all points share.

    `isotropic` promises that V starts as v I: then it stays so if the prior has no axis, and if V follows the exact averages.
    """
    link, solver = link_at(spec, at), spec["solver"]
    isotropic = isotropic and prior_of(spec, link, at).rotations
    channel = Channel(link, solver.resolution, streams.generator("channel", replica), isotropic)
    return channel, output_nodes(link, solver.nodes, streams.generator("nodes", replica))


def rows_from_one(spec: dict) -> np.ndarray:
    """The rows of W of the link of `spec`, 1 ... P."""
    return np.arange(1, link_at(spec).rows + 1)
