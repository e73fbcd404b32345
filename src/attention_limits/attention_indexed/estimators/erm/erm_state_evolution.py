"""State evolution of weight decay; one replica is one scrambling of the nodes of a softmax, which all points share."""

import numpy as np

from attention_limits.attention_indexed.erm.estimate import (
    limit_points,
    linear_points,
    softmax_points,
    with_node_errors,
)
from attention_limits.attention_indexed.erm.softmax import score_nodes
from attention_limits.attention_indexed.estimators.erm.decay_curves import collect_points
from attention_limits.numerics.probability.statistics import PARTS


def run(spec, streams):
    """Errors, energies, spectrum, rank and thresholds of the learned attention (see `variables`)."""
    solver = spec["solver"]

    def points_of(task, point, alpha, replica):
        decay = point["weight_decay"]
        if task.beta is None:
            return with_node_errors(linear_points(task, alpha, np.full_like(alpha, decay)), [])

        def points_on(nodes):
            if decay == 0:
                return limit_points(task, alpha, nodes)
            return softmax_points(task, alpha, decay, nodes, solver.tolerance, solver.max_iterations)

        nodes = score_nodes(task.tokens, solver.nodes, streams.generator("nodes", replica), task.law.symmetric)
        return with_node_errors(points_on(nodes), [points_on(part) for part in nodes.parts(PARTS)])

    return collect_points(spec, streams, points_of)
