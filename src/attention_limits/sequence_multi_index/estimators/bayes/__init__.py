"""Doors to the computation: Bayes-optimal estimates: state evolution, phases, GAMP. Each module has `run(spec, streams)`,
which returns an xarray.Dataset.
"""
