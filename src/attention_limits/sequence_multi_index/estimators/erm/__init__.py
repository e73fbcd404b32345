"""Doors to the computation: empirical risk minimisation. Each module has `run(spec, streams)`, which returns an
xarray.Dataset.
"""
