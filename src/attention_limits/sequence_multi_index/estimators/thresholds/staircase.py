"""All thresholds of weak recovery, one after the other; one replica is one scrambling of the nodes."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.channels.averages import output_nodes
from attention_limits.sequence_multi_index.estimators.at_point import channel_at, prior_of, rows_from_one
from attention_limits.sequence_multi_index.weak_recovery.branch import principal
from attention_limits.sequence_multi_index.weak_recovery.staircase import staircase
from attention_limits.sequence_multi_index.weak_recovery.turning import turning_point

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
        many = output_nodes(channel.link, solver.nodes_at_zero, generator)
        found = {name: np.full(size, np.nan) for name in NUMBERS} | {
            name: np.full((size, size, size), np.nan) for name in MATRICES
        }
        found["step_converged"] = np.zeros(size, bool)
        prior = prior_of(spec, channel.link, at)
        if spec["model"].get("covariance") is not None:
            found["spectrum_participation_ratio"] = 1.0 / prior.response
        path = staircase(channel, nodes, many, solver.tolerance, prior=prior)
        for k, step in enumerate(path):
            for name, attribute in (NUMBERS | MATRICES).items():
                found[name][k] = getattr(step, attribute)
            found["step_converged"][k] = step.converged
        return found | _jump(channel, nodes, path[0].direction, prior)

    dims = dict.fromkeys((*NUMBERS, "step_converged"), ("step",)) | dict.fromkeys(
        MATRICES, ("step", "layer", "layer_star")
    )
    dims["jump_overlap"] = ("layer", "layer_star")
    return collect(spec, compute, dims, {"layer": rows, "layer_star": rows, "step": rows})


def _jump(channel, nodes, direction, prior):
    """Where the branch of what is learned first turns back; missing where it does not, or where no branch is followed."""
    size = channel.link.rows
    nothing = {"jump": np.nan, "jump_overlap": np.full((size, size), np.nan)}
    followed = (prior.rotations and prior.isotropic) or prior.symmetry(channel.link) == "rows"
    if size == 1 or not followed or not np.all(np.isfinite(direction)):
        return nothing
    whitened = np.linalg.solve(prior.root, np.linalg.solve(prior.root, direction).T)
    learned = principal(whitened)
    if learned.shape[1] > 1:
        return nothing
    alpha, overlap = turning_point(channel, nodes, learned, prior)
    return {"jump": alpha, "jump_overlap": overlap}
