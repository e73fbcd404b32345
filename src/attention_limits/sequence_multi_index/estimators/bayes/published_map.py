"""The map of the public program from given overlaps; one replica is one scrambling of the nodes.

The outputs are as wide as those that the program draws, without the usual widening of the nodes: see `published_map`.
"""

import numpy as np

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.channels.averages import node_dimension
from attention_limits.sequence_multi_index.estimators.at_point import channel_at, rows_from_one
from attention_limits.sequence_multi_index.state_evolution.generalization import ERROR_NODES, bayes_error, plug_in_error
from attention_limits.sequence_multi_index.state_evolution.published_map import published_path


def run(spec, streams):
    """Overlaps after each iteration, and the errors at those of the start (see `variables`)."""
    solver, rows = spec["solver"], rows_from_one(spec)
    steps = solver.iterations

    def compute(at, replica):
        channel, _ = channel_at(spec, streams, at, replica)
        nodes = gaussian_nodes(node_dimension(channel.link), solver.nodes, streams.generator("nodes", replica), 1.0)
        # The specification has one row for each alpha.
        start = np.array(min(solver.start, key=lambda row: abs(row[0] - at["alpha"]))[1:])
        path = published_path(
            channel, at["alpha"], start, nodes, streams.generator("uniform points", replica, **at), solver
        )
        link, overlap = channel.link, np.diag(start)
        error_nodes = gaussian_nodes(
            2 * link.rows * link.tokens, ERROR_NODES, streams.generator("error nodes", replica)
        )
        return {
            "overlap_trajectory": path.overlap[:, :, None] * np.eye(link.rows),
            "resolved": path.resolved,
            "missed": path.missed,
            "error_plug_in": plug_in_error(link, np.eye(link.rows), overlap, overlap, error_nodes),
            "error_bayes": bayes_error(link, overlap, error_nodes),
        }

    dims = {"overlap_trajectory": ("iteration", "layer", "layer_star")}
    return collect(spec, compute, dims, {"layer": rows, "layer_star": rows, "iteration": np.arange(1, steps + 1)})
