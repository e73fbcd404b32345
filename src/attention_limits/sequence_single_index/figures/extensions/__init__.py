"""Figures: flows, other students, positions and tokens. Each module has `draw(cubes)`, which computes nothing; the caption
stands beside it.
"""
