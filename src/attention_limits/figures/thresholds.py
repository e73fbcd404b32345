"""Thresholds of single layers, read from the cube of a staircase."""

import numpy as np
import xarray as xr


def layer_threshold(cube, layer) -> xr.DataArray:
    """The threshold at which a layer is learnt, (grid..., replica): the step whose direction is mostly that layer, else NaN."""
    share = cube.direction.sel(layer=layer, layer_star=layer).fillna(0.0)
    return cube.threshold.where(share > 0.5).min("step")


def at_one_point(cube, **values):
    """The cube at grid values of its own, or None if it does not hold them."""
    held = all(key in cube.coords and np.any(np.isclose(cube[key], value)) for key, value in values.items())
    return cube.sel(values, method="nearest") if held else None
