"""Doors to the computation: alignments. Each module has `run(spec, streams)`, which returns an xarray.Dataset."""
