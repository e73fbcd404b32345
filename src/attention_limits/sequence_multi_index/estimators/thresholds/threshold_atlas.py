"""Thresholds of weak recovery of many models, by layers; one replica is one scrambling of the nodes.

Models of different depth, rank and number of heads have different numbers of rows. The rows of a layer are summed up, so that all
points have the same dimensions.
"""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.channels.averages import output_nodes
from attention_limits.sequence_multi_index.estimators.at_point import channel_at, prior_of
from attention_limits.sequence_multi_index.weak_recovery.staircase import staircase

# The variables of a step, and the attribute of `staircase.Step` that holds each.
NUMBERS = {
    "threshold": "alpha", "threshold_error": "error", "threshold_node_error": "shift", "threshold_bound": "bound",
    "step_resolved": "resolved",
}  # fmt: skip


def run(spec, streams):
    """Thresholds, the layers learned at each, and their overlaps before it (see `variables`)."""
    solver = spec["solver"]
    steps, layers = solver.steps, solver.layers

    def compute(at, replica):
        channel, nodes = channel_at(spec, streams, at, replica)
        depth = getattr(channel.link, "depth", 1)
        generator = streams.generator("nodes at zero", replica)
        many = output_nodes(channel.link, solver.nodes_at_zero, generator)
        found = {name: np.full(steps, np.nan) for name in NUMBERS}
        found["learnt"], found["overlap_before"] = np.full((2, steps, layers), np.nan)
        found["step_converged"] = np.zeros(steps, bool)
        prior = prior_of(spec, channel.link, at)
        path = staircase(channel, nodes, many, solver.tolerance, most=steps, prior=prior)
        for k, step in enumerate(path):
            for name, attribute in NUMBERS.items():
                found[name][k] = getattr(step, attribute)
            found["step_converged"][k] = step.converged
            found["learnt"][k, :depth] = np.diag(step.direction).reshape(depth, -1).sum(axis=1)
            found["overlap_before"][k, :depth] = np.diag(step.overlap).reshape(depth, -1).mean(axis=1)
        return found

    dims = dict.fromkeys((*NUMBERS, "step_converged"), ("step",))
    dims |= dict.fromkeys(("learnt", "overlap_before"), ("step", "layer"))
    coordinates = {"step": np.arange(1, steps + 1), "layer": np.arange(1, layers + 1)}
    return collect(spec, compute, dims, coordinates)
