"""Doors to the computation: weight decay. Each module has `run(spec, streams)`, which returns an xarray.Dataset."""
