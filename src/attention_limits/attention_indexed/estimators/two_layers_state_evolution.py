"""Learning curves of two layers from the Bayes-optimal state evolution; one replica is one scrambling of the nodes.

All points of a replica share its nodes: a curve is smooth, and its replicas spread like the error.
"""

import numpy as np

from attention_limits.attention_indexed.two_layers_evolution import RECOVERED, model_of, recovery_threshold, solve
from attention_limits.attention_indexed.two_layers_generalization import output_errors
from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.pipeline.points import collect


def run(spec, streams):
    """Fixed points from the start of the specification (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        point = {**spec["model"], **at}
        model = model_of(point, int(streams.generator("posterior", replica).integers(2**32)))
        nodes = gaussian_nodes(
            model.node_dimension, solver["nodes"], streams.generator("nodes", replica), model.widening
        )
        found = solve(
            model, point["ratio"], point["alpha"], nodes, np.full(2, solver["start"]), solver["tolerance"],
            solver["max_iterations"],
        )  # fmt: skip
        bayes, plug_in = output_errors(model, found.value, streams.generator("outputs", replica))
        return {
            "mmse_by_layer": found.value,
            "residual": found.residual,
            "iterations": found.iterations,
            "converged": found.converged,
            "recovery_threshold": recovery_threshold(model, point["ratio"]),
            "error_bayes": bayes,
            "error_plug_in": plug_in,
            "resolved": model.averages(np.maximum(found.value, RECOVERED), nodes).resolved,
        }

    return collect(spec, compute, {"mmse_by_layer": ("layer",)}, {"layer": [1, 2]})
