"""Population loss of the positional-semantic model over the overlaps (e, m), from tables."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_single_index.positional_semantic.loss import LossGrid, attention_tables


def run(spec, streams):
    """Loss on a grid, and the bound on the orders left out of its series (see `variables`)."""
    overlaps = np.linspace(-1.0, 1.0, spec["solver"].points)
    grid = LossGrid.on(overlaps, overlaps)
    circle = np.linspace(0.0, 1.0, 101)
    tail = np.max(attention_tables().tail(circle, np.sqrt(1.0 - circle**2)))

    def compute(at, replica):
        omega = at["omega"]
        return {"loss": grid.loss(spec["model"]["a"], omega), "loss_tail": 4.0 * (1.0 - omega) * tail}

    return collect(spec, compute, {"loss": ("e", "m")}, {"e": overlaps, "m": overlaps})
