"""Overlap of every layer while one of them is held at a fixed overlap; one replica is one scrambling of the nodes."""

import numpy as np

from attention_limits.pipeline.points import collect
from attention_limits.sequence_multi_index.at_point import channel_at, rows_from_one
from attention_limits.sequence_multi_index.channel_averages import channel_averages
from attention_limits.sequence_multi_index.state_evolution import Settings, solve


def run(spec, streams):
    """Fixed points with each layer held in turn (see `variables`); the overlaps are those of the layers themselves."""
    solver, rows = spec["solver"], rows_from_one(spec)
    size = len(rows)
    settings = Settings(
        tolerance=solver["tolerance"], max_iterations=solver["max_iterations"], warm_up=solver["warm_up"]
    )

    def compute(at, replica):
        channel, nodes = channel_at(spec, streams, at, replica)
        overlap, residual, resolved, converged = (
            np.empty((size, size)),
            np.empty(size),
            np.zeros(size),
            np.zeros(size, bool),
        )
        for row in range(size):
            held = np.full(size, np.nan)
            held[row] = at["held"]
            point = solve(channel, at["alpha"], nodes, solver["start"], settings, held=held)
            overlap[row], residual[row], converged[row] = np.diag(point.value), point.residual, point.converged
            if np.all(np.isfinite(point.value)):
                resolved[row] = channel_averages(channel, point.value, nodes).resolved
        return {
            "layer_overlap": overlap, "held_residual": residual, "held_converged": converged, "held_resolved": resolved,
        }  # fmt: skip

    one = ("held_layer",)
    dims = {"layer_overlap": (*one, "layer"), "held_residual": one, "held_converged": one, "held_resolved": one}
    return collect(spec, compute, dims, {"layer": rows, "held_layer": rows})
