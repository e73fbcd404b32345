"""Doors to the computation of what needs no simulation: loss, exponents, phases. Each module has `run(spec, streams)`, which
returns an xarray.Dataset.
"""
