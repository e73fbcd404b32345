"""Doors to the computation: two layers. Each module has `run(spec, streams)`, which returns an xarray.Dataset."""
