"""Exact lines of the phase diagram of the positional-semantic model: omega against a."""

import numpy as np
import xarray as xr

from attention_limits.sequence_single_index.positional_semantic.phase_diagram import LINES, phase_lines


def run(spec, streams):
    """omega on each line (see `variables`)."""
    a = np.array(spec["grid"]["a"])
    lines = phase_lines(a)
    return xr.Dataset(
        {"transition": (("a", "replica", "line"), np.stack([lines[name] for name in LINES], axis=1)[:, None])},
        {"a": spec["grid"]["a"], "replica": spec["replicas"], "line": list(LINES)},
    )
