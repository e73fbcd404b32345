"""Doors to the computation: online SGD and its diffusion. Each module has `run(spec, streams)`, which returns an
xarray.Dataset.
"""
