"""Learning curve from the Bayes-optimal state evolution; one replica is one scrambling of the nodes.

All points of a replica share its nodes, so that a curve is smooth and its replicas spread like the error.
"""

import numpy as np
import xarray as xr

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channel import Channel
from attention_limits.sequence_multi_index.estimators.points import coordinates, link_at, points, shape
from attention_limits.sequence_multi_index.free_entropy import free_entropy
from attention_limits.sequence_multi_index.generalization import bayes_error, plug_in_error
from attention_limits.sequence_multi_index.state_evolution import channel_averages, node_dimension, solve


def run(spec, streams):
    """Fixed points from the start of the specification, with free entropy and errors (see `variables`)."""
    solver, size = spec["solver"], link_at(spec).rows
    overlap = np.full((*shape(spec), size, size), np.nan)
    entropy, plug_in, bayes, residual, resolved = np.full((5, *shape(spec)), np.nan)
    iterations, converged = np.empty(shape(spec), int), np.empty(shape(spec), bool)
    for at, values, replica in points(spec):
        link = link_at(spec, **values)
        channel = Channel(link, solver["resolution"], streams.generator("channel", replica))
        nodes = gaussian_nodes(node_dimension(link), solver["nodes"], streams.generator("nodes", replica))
        point = solve(
            channel, values["alpha"], nodes, solver["start"],
            side_information=solver["side_information"], regularization=solver["regularization"],
            tolerance=solver["tolerance"], max_iterations=solver["max_iterations"], warm_up=solver["warm_up"],
        )  # fmt: skip
        Q = overlap[at] = point.value
        residual[at], iterations[at], converged[at] = point.residual, point.iterations, point.converged
        if not np.all(np.isfinite(Q)):
            resolved[at] = 0.0
            continue
        averages = channel_averages(channel, Q, nodes, solver["regularization"])
        entropy[at] = free_entropy(Q, values["alpha"], averages.log_z, solver["side_information"])
        resolved[at] = averages.resolved
        # The errors need no channel: sixteen times the nodes cost next to nothing.
        dimension = 2 * link.rows * link.tokens
        error_nodes = gaussian_nodes(dimension, 16 * solver["nodes"], streams.generator("error nodes", replica))
        plug_in[at] = plug_in_error(link, np.eye(size), Q, Q, error_nodes)
        bayes[at] = bayes_error(link, Q, error_nodes)
    grid = (*spec["grid"], "replica")
    return xr.Dataset(
        {
            "overlap": ((*grid, "layer", "layer_star"), overlap),
            "free_entropy": (grid, entropy),
            "error_plug_in": (grid, plug_in),
            "error_bayes": (grid, bayes),
            "residual": (grid, residual),
            "iterations": (grid, iterations),
            "converged": (grid, converged),
            "resolved": (grid, resolved),
        },
        coordinates(spec, link_at(spec)),
    )
