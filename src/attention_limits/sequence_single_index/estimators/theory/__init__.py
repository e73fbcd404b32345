"""Doors to the computation: what needs no simulation: loss, exponents, phases. Each module has `run(spec, streams)`, which
returns an xarray.Dataset.
"""
