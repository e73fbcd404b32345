"""Overlap of every layer while one of them is held at a fixed overlap; one replica is one scrambling of the nodes."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.channels.averages import channel_averages
from attention_limits.sequence_multi_index.estimators.at_point import channel_at, completed, rows_from_one
from attention_limits.sequence_multi_index.state_evolution.fixed_point import solve

# Informed start, and the largest difference of overlaps at one fixed point.
INFORMED, DIFFERENT = 0.999, 0.01
NUMBERS = ("held_residual", "held_converged", "held_unique", "held_resolved")
BY_LAYER = ("layer_overlap", "layer_overlap_node_error")


def run(spec, streams):
    """Fixed points with each layer held in turn (see `variables`); the overlaps are those of the layers themselves."""
    solver, rows = spec["solver"], rows_from_one(spec)
    size = len(rows)
    settings = completed(solver, side_information=0.0, regularization=0.0)

    def compute(at, replica):
        channel, nodes = channel_at(spec, streams, at, replica)
        few = nodes.head(len(nodes) // 2)
        found = {name: np.full((size, size), np.nan) for name in BY_LAYER} | {name: np.zeros(size) for name in NUMBERS}
        for row in range(size):
            held = np.full(size, np.nan)
            held[row] = at["held"]

            def end(start, some, held=held):
                return solve(channel, at["alpha"], some, start, settings, held=held)

            point, informed, half = end(solver.start, nodes), end(INFORMED, nodes), end(solver.start, few)
            overlap, other = np.diag(point.value), np.diag(informed.value)
            same = point.converged and informed.converged and np.all(np.abs(overlap - other) <= DIFFERENT)
            resolved = 0.0
            if np.all(np.isfinite(point.value)):
                resolved = channel_averages(channel, point.value, nodes).resolved
            numbers = point.residual, point.converged, same, resolved
            for name, value in zip(NUMBERS, numbers, strict=True):
                found[name][row] = value
            for name, value in zip(BY_LAYER, (overlap, np.abs(overlap - np.diag(half.value))), strict=True):
                found[name][row] = value
        for name in ("held_converged", "held_unique"):
            found[name] = found[name].astype(bool)
        return found

    dims = dict.fromkeys(BY_LAYER, ("held_layer", "layer")) | dict.fromkeys(NUMBERS, ("held_layer",))
    return collect(spec, compute, dims, {"layer": rows, "held_layer": rows})
