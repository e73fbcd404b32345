"""State evolution by iteration, the limit of GAMP's trajectory; one replica is one scrambling of the nodes."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.estimators.at_point import channel_at, prior_of, rows_from_one
from attention_limits.sequence_multi_index.state_evolution.trajectory import trajectory


def run(spec, streams):
    """Overlaps after each iteration (see `variables`)."""
    solver, rows = spec["solver"], rows_from_one(spec)
    steps = solver.max_iterations

    def compute(at, replica):
        channel, nodes = channel_at(spec, streams, at, replica, isotropic=True)
        path = trajectory(channel, at["alpha"], nodes, solver, prior_of(spec, channel.link, at))
        return {"overlap_trajectory": path.overlap, "resolved": path.resolved}

    dims = {"overlap_trajectory": ("iteration", "layer", "layer_star")}
    return collect(spec, compute, dims, {"layer": rows, "layer_star": rows, "iteration": np.arange(1, steps + 1)})
