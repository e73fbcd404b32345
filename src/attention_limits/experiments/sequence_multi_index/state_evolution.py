"""Learning curve from the Bayes-optimal state evolution; one replica is one scrambling of the nodes.

All alphas of a replica share its nodes, so that a curve is smooth and its replicas spread like the error.
"""

import numpy as np
import xarray as xr

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.progress import progress
from attention_limits.sequence_multi_index.deep_attention import DeepAttention
from attention_limits.sequence_multi_index.free_entropy import free_entropy
from attention_limits.sequence_multi_index.generalization import bayes_error, plug_in_error
from attention_limits.sequence_multi_index.state_evolution import channel_averages, node_dimension, solve


def run(spec, streams):
    """Fixed points from the start of the specification, with free entropy and errors (see `variables`)."""
    model = DeepAttention(**spec["model"])
    solver = spec["solver"]
    alphas, replicas = spec["grid"]["alpha"], spec["replicas"]
    shape = (len(alphas), len(replicas))
    layers = np.arange(1, model.layers + 1)
    overlap = np.empty((*shape, model.layers, model.layers))
    entropy, plug_in, bayes, residual, resolved = np.empty((5, *shape))
    iterations, converged = np.empty(shape, int), np.empty(shape, bool)
    dimension, count = node_dimension(model), solver["nodes"]
    channel_nodes = [gaussian_nodes(dimension, count, streams.generator("nodes", r)) for r in replicas]
    # The errors need no channel: sixteen times the nodes cost next to nothing.
    error_nodes = [gaussian_nodes(dimension, 16 * count, streams.generator("error nodes", r)) for r in replicas]
    points = [(i, j) for i in range(len(alphas)) for j in range(len(replicas))]
    for i, j in progress(points, len(points), spec["estimator"]):
        nodes = channel_nodes[j]
        point = solve(
            model, alphas[i], nodes, solver["start"],
            side_information=solver["side_information"], regularization=solver["regularization"],
            resolution=solver["resolution"], tolerance=solver["tolerance"], max_iterations=solver["max_iterations"],
            warm_up=solver["warm_up"],
        )  # fmt: skip
        Q = overlap[i, j] = point.value
        residual[i, j], iterations[i, j], converged[i, j] = point.residual, point.iterations, point.converged
        averages = channel_averages(model, Q, nodes, solver["regularization"], solver["resolution"])
        entropy[i, j] = free_entropy(Q, alphas[i], averages.log_z, solver["side_information"])
        resolved[i, j] = averages.resolved
        plug_in[i, j] = plug_in_error(model, np.eye(model.layers), Q, Q, error_nodes[j])
        bayes[i, j] = bayes_error(model, Q, error_nodes[j])
    grid = ("alpha", "replica")
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
        {"alpha": alphas, "replica": replicas, "layer": layers, "layer_star": layers},
    )
