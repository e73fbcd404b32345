"""Doors to the computation of Bayes-optimal estimates: state evolution, phases, GAMP. Each module has `run(spec, streams)`,
which returns an xarray.Dataset.
"""
