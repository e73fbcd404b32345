"""Regions of the positional-semantic model over (a, omega): steepest direction, global minimum, number of minima."""

import xarray as xr

from attention_limits.sequence_single_index.positional_semantic.phase_diagram import KINDS, phase_grid


def run(spec, streams):
    """Region codes, number of minima of each kind, and overlaps of the lowest (see `variables`)."""
    a, omega = spec["grid"]["a"], spec["grid"]["omega"]
    found = phase_grid(a, omega)
    dims = ("a", "omega", "replica")
    return xr.Dataset(
        {
            "region": (dims, found.code[..., None]),
            "minima": ((*dims, "minimum"), found.kinds[:, :, None]),
            "positional_overlap": (dims, found.e[..., None]),
            "semantic_overlap": (dims, found.m[..., None]),
        },
        {"a": a, "omega": omega, "replica": spec["replicas"], "minimum": list(KINDS)},
    )
