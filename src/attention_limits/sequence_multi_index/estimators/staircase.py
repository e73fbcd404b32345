"""All thresholds of weak recovery, one after the other; one replica is one scrambling of the nodes."""

import numpy as np
import xarray as xr

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channel import Channel
from attention_limits.sequence_multi_index.estimators.points import coordinates, link_at, points, shape
from attention_limits.sequence_multi_index.staircase import staircase
from attention_limits.sequence_multi_index.state_evolution import node_dimension


def run(spec, streams):
    """Thresholds, what is learnt at each, and the overlap reached before it (see `variables`)."""
    solver, size = spec["solver"], link_at(spec).rows
    alpha, error, bound, resolved = np.full((4, *shape(spec), size), np.nan)
    converged = np.zeros((*shape(spec), size), bool)
    direction, overlap = np.full((2, *shape(spec), size, size, size), np.nan)
    for at, values, replica in points(spec):
        link = link_at(spec, **values)
        channel = Channel(link, solver["resolution"], streams.generator("channel", replica))
        dimension = node_dimension(link)
        nodes = gaussian_nodes(dimension, solver["nodes"], streams.generator("nodes", replica))
        many = gaussian_nodes(dimension, solver["nodes_at_zero"], streams.generator("nodes at zero", replica))
        for k, step in enumerate(staircase(channel, nodes, many, solver["tolerance"])):
            alpha[(*at, k)], resolved[(*at, k)], converged[(*at, k)] = step.alpha, step.resolved, step.converged
            error[(*at, k)], bound[(*at, k)] = step.error, step.bound
            direction[(*at, k)], overlap[(*at, k)] = step.direction, step.overlap
    grid = (*spec["grid"], "replica", "step")
    return xr.Dataset(
        {
            "threshold": (grid, alpha),
            "threshold_error": (grid, error),
            "threshold_bound": (grid, bound),
            "direction": ((*grid, "layer", "layer_star"), direction),
            "overlap_at_threshold": ((*grid, "layer", "layer_star"), overlap),
            "step_converged": (grid, converged),
            "step_resolved": (grid, resolved),
        },
        {**coordinates(spec, link_at(spec)), "step": np.arange(1, size + 1)},
    )
