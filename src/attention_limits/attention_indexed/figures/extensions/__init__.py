"""Figures: other outputs, laws of S, sizes and layers. Each module has `draw(cubes)`, which computes nothing; the caption
stands beside it.
"""
