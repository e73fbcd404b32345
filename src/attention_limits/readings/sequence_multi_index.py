"""Numbers read off the cubes of the sequence multi-index family, for figures and for the audit."""

import xarray as xr

from attention_limits.readings.common import mean_at


def layer_threshold(cube, layer) -> xr.DataArray:
    """The threshold at which a layer is learnt, (grid..., replica): the step whose direction is mostly that layer, else NaN."""
    share = cube.direction.sel(layer=layer, layer_star=layer).fillna(0.0)
    return cube.threshold.where(share > 0.5).min("step")


def threshold_of_layer(cube, layer, **point):
    """Threshold of a layer at one point of the grid: mean over replicas and its standard error."""
    return mean_at(layer_threshold(cube, layer), **point)
