"""Phases of learning: what the uninformed start reaches against what the free entropy says is possible.

impossible: the fixed point of largest free entropy has no overlap; hard: it has more than the uninformed start reaches; easy:
the uninformed start reaches it. One replica is one scrambling of the nodes.
"""

import numpy as np
import xarray as xr

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channel import Channel
from attention_limits.sequence_multi_index.estimators.points import coordinates, link_at, points, shape
from attention_limits.sequence_multi_index.phases import compare
from attention_limits.sequence_multi_index.state_evolution import node_dimension


def run(spec, streams):
    """Both fixed points, their free entropies, and the phase (see `variables`)."""
    solver, size = spec["solver"], link_at(spec).rows
    overlap = np.full((*shape(spec), 2, size, size), np.nan)
    entropy = np.full((*shape(spec), 2), np.nan)
    resolved, phase = np.full((2, *shape(spec)), np.nan)
    converged = np.zeros((*shape(spec), 2), bool)
    for at, values, replica in points(spec):
        link = link_at(spec, **values)
        channel = Channel(link, solver["resolution"], streams.generator("channel", replica))
        nodes = gaussian_nodes(node_dimension(link), solver["nodes"], streams.generator("nodes", replica))
        found = compare(
            channel, values["alpha"], nodes,
            tolerance=solver["tolerance"], max_iterations=solver["max_iterations"], gap=solver["gap"],
        )  # fmt: skip
        overlap[at], entropy[at], converged[at] = found.overlap, found.free_entropy, found.converged
        resolved[at], phase[at] = found.resolved, found.phase
    grid = (*spec["grid"], "replica")
    return xr.Dataset(
        {
            "overlap_by_start": ((*grid, "init", "layer", "layer_star"), overlap),
            "free_entropy_by_start": ((*grid, "init"), entropy),
            "converged_by_start": ((*grid, "init"), converged),
            "phase": (grid, phase),
            "resolved": (grid, resolved),
        },
        {**coordinates(spec, link_at(spec)), "init": ["uninformed", "informed"]},
    )
