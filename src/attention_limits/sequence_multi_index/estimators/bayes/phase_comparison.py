"""Phases of learning: the overlap that the uninformed start reaches against the one that the free entropy allows.

impossible: the fixed point of largest free entropy has no overlap; hard: it has more than the uninformed start reaches; easy:
the uninformed start reaches it. One replica is one scrambling of the nodes.
"""

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.estimators.at_point import channel_at, completed, prior_of, rows_from_one
from attention_limits.sequence_multi_index.state_evolution.phases import compare


def run(spec, streams):
    """Both fixed points, their free entropies, and the phase (see `variables`)."""
    rows = rows_from_one(spec)
    settings = completed(spec["solver"], warm_up=1, side_information=0.0, regularization=0.0)

    def compute(at, replica):
        channel, nodes = channel_at(spec, streams, at, replica, isotropic=True)
        found = compare(channel, at["alpha"], nodes, settings, prior_of(spec, channel.link))
        return {
            "overlap_by_start": found.overlap,
            "overlap_by_start_node_error": found.node_error,
            "free_entropy_by_start": found.free_entropy,
            "converged_by_start": found.converged,
            "phase": found.phase,
            "resolved": found.resolved,
        }

    dims = {
        "overlap_by_start": ("init", "layer", "layer_star"),
        "overlap_by_start_node_error": ("init", "layer", "layer_star"),
        "free_entropy_by_start": ("init",),
        "converged_by_start": ("init",),
    }
    return collect(spec, compute, dims, {"layer": rows, "layer_star": rows, "init": ["uninformed", "informed"]})
