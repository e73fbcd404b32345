"""Figures: each module has `draw(cubes)`, which computes nothing; the caption stands beside it."""
