"""Doors to state evolution, phases and GAMP with the true prior and channel. Each module has `run(spec, streams)`,
which returns an xarray.Dataset.
"""
