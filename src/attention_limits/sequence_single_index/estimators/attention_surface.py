"""Population loss of the positional-semantic model over the overlaps (e, m), from the shared tables."""

import numpy as np
import xarray as xr

from attention_limits.sequence_single_index.attention_tables import LossGrid, attention_tables


def run(spec, streams):
    """Loss on a grid and the bound on what its series leaves out (see `variables`)."""
    omegas, points = spec["grid"]["omega"], spec["solver"]["points"]
    e = m = np.linspace(-1.0, 1.0, points)
    grid = LossGrid.on(e, m)
    loss = np.array([[grid.loss(spec["model"]["a"], omega)] for omega in omegas])
    circle = np.linspace(0.0, 1.0, 101)
    tail = np.max(attention_tables().tail(circle, np.sqrt(1.0 - circle**2)))
    return xr.Dataset(
        {
            "loss": (("omega", "replica", "e", "m"), loss),
            "loss_tail": (("omega", "replica"), np.array([[4.0 * (1.0 - omega) * tail] for omega in omegas])),
        },
        {"omega": omegas, "replica": spec["replicas"], "e": e, "m": m},
    )
