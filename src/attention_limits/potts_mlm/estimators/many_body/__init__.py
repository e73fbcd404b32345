"""Doors to the computation: Potts models with terms of more than two sites. Each module has `run(spec, streams)`."""
