"""All thresholds of weak recovery, one after the other; one replica is one scrambling of the nodes."""

import numpy as np

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.pipeline.points import collect
from attention_limits.sequence_multi_index.at_point import channel_at, prior_of, rows_from_one
from attention_limits.sequence_multi_index.channel_averages import node_dimension
from attention_limits.sequence_multi_index.staircase import staircase

# The variables of a step, and the attribute of `staircase.Step` that holds each.
NUMBERS = {
    "threshold": "alpha", "threshold_error": "error", "threshold_node_error": "shift", "threshold_bound": "bound",
    "step_resolved": "resolved",
}  # fmt: skip
MATRICES = {"direction": "direction", "overlap_at_threshold": "overlap"}


def run(spec, streams):
    """Thresholds, the subspace learned at each, and the overlap reached before it (see `variables`)."""
    solver, rows = spec["solver"], rows_from_one(spec)
    size = len(rows)

    def compute(at, replica):
        channel, nodes = channel_at(spec, streams, at, replica)
        generator = streams.generator("nodes at zero", replica)
        many = gaussian_nodes(node_dimension(channel.link), solver["nodes_at_zero"], generator)
        found = {name: np.full(size, np.nan) for name in NUMBERS} | {
            name: np.full((size, size, size), np.nan) for name in MATRICES
        }
        found["step_converged"] = np.zeros(size, bool)
        path = staircase(channel, nodes, many, solver["tolerance"], prior=prior_of(spec, channel.link))
        for k, step in enumerate(path):
            for name, attribute in (NUMBERS | MATRICES).items():
                found[name][k] = getattr(step, attribute)
            found["step_converged"][k] = step.converged
        return found

    dims = dict.fromkeys((*NUMBERS, "step_converged"), ("step",)) | dict.fromkeys(
        MATRICES, ("step", "layer", "layer_star")
    )
    return collect(spec, compute, dims, {"layer": rows, "layer_star": rows, "step": rows})
