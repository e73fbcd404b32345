"""Doors to the computation: each module has `run(spec, streams)`, which returns an xarray.Dataset."""
