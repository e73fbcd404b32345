"""Learning curves of two layers from state evolution, both starts; one replica is one scrambling of the nodes.

All points of a replica share its nodes: a curve is smooth, and its replicas spread like the error.
"""

import numpy as np

from attention_limits.attention_indexed.two_layers_evolution import RECOVERED, compare, model_of, recovery_threshold
from attention_limits.attention_indexed.two_layers_generalization import output_errors
from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.pipeline.points import collect

_DIMS = dict.fromkeys(("mmse_by_layer", "mmse_by_layer_node_error", "mmse_informed"), ("layer",))


def run(spec, streams):
    """Fixed points from the uninformed and from the informed start (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        point = {**spec["model"], **at}
        model = model_of(point, int(streams.generator("posterior", replica).integers(2**32)))
        # The averages have eight dimensions and more: weights of widened nodes would scatter more than the averages.
        nodes = gaussian_nodes(model.node_dimension, solver["nodes"], streams.generator("nodes", replica), widening=1.0)
        found = compare(
            model, point["ratio"], point["alpha"], nodes, solver["informed_start"], solver["tolerance"],
            solver["max_iterations"],
        )  # fmt: skip
        uninformed, informed = found.uninformed, found.informed
        bayes, plug_in = output_errors(model, uninformed.value, streams.generator("outputs", replica))
        return {
            "mmse_by_layer": uninformed.value,
            "mmse_by_layer_node_error": found.node_error,
            "mmse_informed": informed.value,
            "residual": uninformed.residual,
            "iterations": uninformed.iterations,
            "converged": uninformed.converged,
            "converged_informed": informed.converged,
            "unique": found.unique,
            "recovery_threshold": recovery_threshold(model, point["ratio"]),
            "error_bayes": bayes,
            "error_plug_in": plug_in,
            "resolved": model.averages(np.maximum(uninformed.value, RECOVERED), nodes).resolved,
        }

    return collect(spec, compute, _DIMS, {"layer": [1, 2]})
