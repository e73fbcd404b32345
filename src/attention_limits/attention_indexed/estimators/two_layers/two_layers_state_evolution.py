"""Learning curves of two layers from state evolution, both starts; one replica is one scrambling of the nodes.

All points of a replica share its nodes: a curve is smooth, and its replicas spread like the error.
"""

import numpy as np

from attention_limits.attention_indexed.two_layers.generalization import NODES, output_errors
from attention_limits.attention_indexed.two_layers.state_evolution import (
    RECOVERED,
    compare,
    model_of,
    recovery_threshold,
)
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.probability.statistics import PARTS, node_error
from attention_limits.pipeline.cubes.points import collect

_DIMS = dict.fromkeys(("mmse_by_layer", "mmse_by_layer_node_error", "mmse_informed_by_layer"), ("layer",))


def run(spec, streams):
    """Fixed points from the uninformed and from the informed start, and which one is Bayes-optimal (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        point = {**spec["model"], **at}
        model = model_of(point, int(streams.generator("posterior", replica).integers(2**32)))
        # The averages have eight dimensions and more: weights of widened nodes would scatter more than the averages.
        nodes = gaussian_nodes(model.node_dimension, solver.nodes, streams.generator("nodes", replica), widening=1.0)
        found = compare(model, point["ratio"], point["alpha"], nodes, solver)
        uninformed, informed = found.uninformed, found.informed
        outputs = output_errors(model, uninformed.value, streams.generator("outputs", replica))
        generator, count = streams.generator("outputs of parts", replica), NODES // PARTS
        errors = node_error(outputs, [output_errors(model, V, generator, count) for V in found.parts])
        return {
            "mmse_by_layer": uninformed.value,
            "mmse_by_layer_node_error": node_error(uninformed.value, found.parts),
            "mmse_informed_by_layer": informed.value,
            "residual": uninformed.residual,
            "iterations": uninformed.iterations,
            "converged": uninformed.converged,
            "converged_informed": informed.converged,
            "unique": found.unique,
            "free_entropy_difference": found.free_entropy,
            "free_entropy_difference_node_error": found.free_entropy_error,
            "bayes_optimal": found.bayes_optimal,
            "recovery_threshold": recovery_threshold(model, point["ratio"]),
            "error_bayes": outputs[0],
            "error_plug_in": outputs[1],
            "error_bayes_node_error": errors[0],
            "error_plug_in_node_error": errors[1],
            "resolved": model.averages(np.maximum(uninformed.value, RECOVERED), nodes).resolved,
        }

    return collect(spec, compute, _DIMS, {"layer": [1, 2]})
