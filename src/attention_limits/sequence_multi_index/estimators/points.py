"""The points of a grid and the link at each: grid keys are parameters of the link, but for those of the solvers."""

import itertools
from pathlib import Path

from attention_limits.pipeline.progress import progress
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.loading import NOT_OF_THE_LINK, load_link


def shape(spec):
    """Lengths of the grid axes and of `replica`."""
    return (*(len(values) for values in spec["grid"].values()), len(spec["replicas"]))


def points(spec):
    """Index (grid..., replica), grid values by key, and replica of every point, with a line of progress each."""
    axes = [list(enumerate(values)) for values in (*spec["grid"].values(), spec["replicas"])]
    everything = list(itertools.product(*axes))
    for point in progress(everything, len(everything), spec["estimator"]):
        index, (*values, replica) = zip(*point, strict=True)
        yield index, dict(zip(spec["grid"], values, strict=True)), replica


def link_at(spec, **values) -> Link:
    """The link of the specification at one grid point; without values, at the first one."""
    values = values or {key: axis[0] for key, axis in spec["grid"].items()}
    parameters = {key: value for key, value in values.items() if key not in NOT_OF_THE_LINK}
    return load_link({**spec["model"], **parameters}, Path(spec["project"]))


def coordinates(spec, link: Link):
    """Coordinates of the grid, the replicas and the rows of W."""
    rows = list(range(1, link.rows + 1))
    return {**spec["grid"], "replica": spec["replicas"], "layer": rows, "layer_star": rows}
