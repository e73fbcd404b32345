"""Transitions to the semantic solution; one replica is one scrambling of the nodes."""

from attention_limits.pipeline.points import collect
from attention_limits.sequence_multi_index.erm.at_point import ridge_at, task_at
from attention_limits.sequence_multi_index.erm.transition import CRITERIA, constant_loss, transitions

_DIMS = {"transition": ("criterion",), "transition_jump_index": ("criterion",)}


def run(spec, streams):
    """The transitions at every point, with the jump index of their branches (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        task = task_at(spec, at)
        nodes = task.nodes(solver["nodes"], streams.generator("nodes", replica))
        found = transitions(
            task.loss, ridge_at(spec, at), nodes, solver["smallest"], solver["largest"], solver["accuracy"], solver["tolerance"],
            solver["max_iterations"], solver["against"],
        )  # fmt: skip
        return {
            "transition": [found[criterion].alpha for criterion in CRITERIA],
            "transition_jump_index": [found[criterion].jump for criterion in CRITERIA],
            "constant_loss": constant_loss(task.loss, nodes),
        }

    return collect(spec, compute, _DIMS, {"criterion": list(CRITERIA)})
