"""Learning curve of exchangeable layers from their reduced state evolution; one replica is one scrambling of the nodes."""

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.estimators.at_point import channel_at, completed, prior_of
from attention_limits.sequence_multi_index.state_evolution.exchangeable.reduced import solve

OVERLAPS = ("shallow_overlap", "shallow_correlation", "shallow_last_overlap", "last_overlap")


def run(spec, streams):
    """Fixed points from the start of the specification (see `variables`)."""
    solver = spec["solver"]
    settings = completed(solver, side_information=0.0)

    def compute(at, replica):
        channel, nodes = channel_at(spec, streams, at, replica)
        prior = prior_of(spec, channel.link, at)
        found = solve(channel, at["alpha"], nodes, solver.start, settings, prior)
        return dict(zip(OVERLAPS, found.value, strict=True)) | {
            "residual": found.residual, "iterations": found.iterations, "converged": found.converged,
            "resolved": found.resolved,
        }  # fmt: skip

    return collect(spec, compute, {})
