"""Transitions to the semantic solution; one replica is one scrambling of the nodes."""

import numpy as np

from attention_limits.numerics.probability.statistics import PARTS, node_error
from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.erm.task import ridge_at, task_at
from attention_limits.sequence_multi_index.erm.transition import CRITERIA, constant_loss, transitions

_DIMS = dict.fromkeys(("transition", "transition_node_error", "transition_jump_index"), ("criterion",))


def run(spec, streams):
    """The transitions at every point, with the jump index of their branches (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        task = task_at(spec, at)
        nodes = task.nodes(solver.nodes, streams.generator("nodes", replica))

        def found_on(some):
            return transitions(task.loss, ridge_at(spec, at), some, solver)

        found = found_on(nodes)
        whole = np.array([found[criterion].alpha for criterion in CRITERIA])
        error = np.zeros_like(whole)
        if nodes.random:
            parts = [found_on(part) for part in nodes.parts(PARTS)]
            error = node_error(whole, [[part[criterion].alpha for criterion in CRITERIA] for part in parts])
        return {
            "transition": whole,
            "transition_node_error": error,
            "transition_jump_index": [found[criterion].jump for criterion in CRITERIA],
            "constant_loss": constant_loss(task.loss, nodes),
        }

    return collect(spec, compute, _DIMS, {"criterion": list(CRITERIA)})
