"""Doors to the computation: two and more layers. Each module has `run(spec, streams)`, which returns an xarray.Dataset."""
