"""Learning curves of two layers from the Bayes-optimal state evolution; one replica is one scrambling of the nodes.

All points of a replica share its nodes: a curve is smooth, and its replicas spread like the error.
"""

import numpy as np

from attention_limits.attention_indexed.denoiser import effective_dimension
from attention_limits.attention_indexed.two_layers import (
    NODE_DIMENSION,
    RECOVERED,
    TwoLayers,
    channel_averages,
    solve,
)
from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.pipeline.points import collect


def run(spec, streams):
    """Fixed points from the start of the specification (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        point = {**spec["model"], **at}
        model = TwoLayers(point["skip"], point["beta"])
        nodes = gaussian_nodes(NODE_DIMENSION, solver["nodes"], streams.generator("nodes", replica))
        found = solve(
            model, point["ratio"], point["alpha"], nodes, np.full(2, solver["start"]), solver["tolerance"],
            solver["max_iterations"],
        )  # fmt: skip
        return {
            "mmse_by_layer": found.value,
            "residual": found.residual,
            "iterations": found.iterations,
            "converged": found.converged,
            # An output gives two equations, each layer has nu d^2 parameters.
            "recovery_threshold": float(effective_dimension(point["ratio"])),
            "resolved": channel_averages(model, np.maximum(found.value, RECOVERED), nodes).resolved,
        }

    return collect(spec, compute, {"mmse_by_layer": ("layer",)}, {"layer": [1, 2]})
