"""Doors to the computation: learners of masked sites. Each module has `run(spec, streams)`, which returns an xarray.Dataset."""
