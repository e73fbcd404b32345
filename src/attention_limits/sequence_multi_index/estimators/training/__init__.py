"""Doors to the computation: data, gradient descent, the text experiment. Each module has `run(spec, streams)`, which returns
an xarray.Dataset.
"""
