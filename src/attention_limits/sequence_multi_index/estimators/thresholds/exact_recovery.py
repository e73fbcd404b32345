"""Bracket of the alpha of exact recovery; one replica is one scrambling of the nodes."""

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.estimators.at_point import channel_at, completed, prior_of
from attention_limits.sequence_multi_index.state_evolution.exact_recovery import exact_recovery


def run(spec, streams):
    """The bracket at every point (see `variables`)."""
    return brackets(spec, streams, exact_recovery)


def brackets(spec, streams, search):
    """The dataset of a `search(channel, nodes, settings, prior)` of `state_evolution.exact_recovery` at every point."""
    settings = completed(spec["solver"], warm_up=4, side_information=0.0, regularization=0.0)

    def compute(at, replica):
        channel, nodes = channel_at(spec, streams, at, replica)
        prior = prior_of(spec, channel.link, at)
        found = search(channel, nodes, settings, prior)
        return {
            "recovery_below": found.below, "recovery_above": found.above, "recovery_converged": found.converged,
            "recovery_node_error": found.node_error,
        }  # fmt: skip

    return collect(spec, compute, {})
