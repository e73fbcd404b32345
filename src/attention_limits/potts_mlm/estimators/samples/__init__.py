"""Doors to the computation: samples of the Potts model, and Gaussian sequences. Each module has `run(spec, streams)`, which
returns an xarray.Dataset.
"""
