"""Doors to the computation of one layer: state evolution, AMP, gradient descent, sampling. Each module has `run(spec, streams)`,
which returns an xarray.Dataset.
"""
