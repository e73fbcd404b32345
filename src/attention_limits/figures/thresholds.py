"""Thresholds of single layers, read from the cube of a staircase."""

import xarray as xr


def layer_threshold(cube, layer) -> xr.DataArray:
    """The threshold at which a layer is learnt, (grid..., replica): the step whose direction is mostly that layer, else NaN."""
    share = cube.direction.sel(layer=layer, layer_star=layer).fillna(0.0)
    return cube.threshold.where(share > 0.5).min("step")
