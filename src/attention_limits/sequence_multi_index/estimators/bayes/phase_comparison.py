"""Fixed points of the state evolution from several starts, with their free entropies; one replica is one scrambling of the nodes.

Which of them is optimal, and the phase (impossible, hard, easy), follows from all replicas together: `readings.phases`.
"""

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.estimators.at_point import channel_at, completed, prior_of, rows_from_one
from attention_limits.sequence_multi_index.state_evolution.phases import branches, random_starts

PAIR = ("layer", "layer_star")
DIMS = {
    "overlap_by_start": ("init", *PAIR),
    "overlap_by_start_node_error": ("init", *PAIR),
    **dict.fromkeys(
        ("free_entropy_by_start", "free_entropy_by_start_node_error", "learned_by_start", "converged_by_start"),
        ("init",),
    ),
}


def run(spec, streams):
    """The fixed points of all starts and their free entropies (see `variables`)."""
    rows, count = rows_from_one(spec), spec["solver"].starts
    settings = completed(spec["solver"], warm_up=1, side_information=0.0, regularization=0.0)

    def compute(at, replica):
        # From a random start the rows have different overlaps.
        channel, nodes = channel_at(spec, streams, at, replica, isotropic=count == 0)
        prior = prior_of(spec, channel.link, at)
        # The same starts in every replica, so that the replicas of a start estimate one number.
        starts = random_starts(channel, prior, count, streams.generator("starts", 0))
        found = branches(channel, at["alpha"], nodes, settings, prior, starts)
        return {
            "overlap_by_start": found.overlap,
            "overlap_by_start_node_error": found.overlap_node_error,
            "free_entropy_by_start": found.free_entropy,
            "free_entropy_by_start_node_error": found.free_entropy_node_error,
            "learned_by_start": found.learned,
            "converged_by_start": found.converged,
            "resolved": found.resolved,
        }

    inits = ["uninformed", "informed", *(f"random {k}" for k in range(1, count + 1))]
    return collect(spec, compute, DIMS, {"layer": rows, "layer_star": rows, "init": inits})
