"""Doors to the computation: thresholds of weak and exact recovery. Each module has `run(spec, streams)`, which returns an
xarray.Dataset.
"""
