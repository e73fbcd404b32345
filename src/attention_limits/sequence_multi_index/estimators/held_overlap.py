"""Overlap of every layer while one of them is held at a fixed overlap; one replica is one scrambling of the nodes."""

import numpy as np
import xarray as xr

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channel import Channel
from attention_limits.sequence_multi_index.estimators.points import coordinates, link_at, points, shape
from attention_limits.sequence_multi_index.state_evolution import channel_averages, node_dimension, solve


def run(spec, streams):
    """Fixed points with each layer held in turn (see `variables`); the overlaps are those of the layers themselves."""
    solver, size = spec["solver"], link_at(spec).rows
    grid_shape = (*shape(spec), size)
    overlap = np.full((*grid_shape, size), np.nan)
    residual, resolved = np.full(grid_shape, np.nan), np.zeros(grid_shape)
    converged = np.empty(grid_shape, bool)
    for at, values, replica in points(spec):
        link = link_at(spec, **values)
        channel = Channel(link, solver["resolution"], streams.generator("channel", replica))
        nodes = gaussian_nodes(node_dimension(link), solver["nodes"], streams.generator("nodes", replica))
        for row in range(size):
            held = np.full(size, np.nan)
            held[row] = values["held"]
            point = solve(
                channel, values["alpha"], nodes, solver["start"], tolerance=solver["tolerance"],
                max_iterations=solver["max_iterations"], warm_up=solver["warm_up"], held=held,
            )  # fmt: skip
            overlap[(*at, row)] = np.diag(point.value)
            if np.all(np.isfinite(point.value)):
                resolved[(*at, row)] = channel_averages(channel, point.value, nodes).resolved
            residual[(*at, row)], converged[(*at, row)] = point.residual, point.converged
    grid = (*spec["grid"], "replica", "held_layer")
    return xr.Dataset(
        {
            "layer_overlap": ((*grid, "layer"), overlap),
            "held_residual": (grid, residual),
            "held_converged": (grid, converged),
            "held_resolved": (grid, resolved),
        },
        {**coordinates(spec, link_at(spec)), "held_layer": np.arange(1, size + 1)},
    ).drop_vars("layer_star")
