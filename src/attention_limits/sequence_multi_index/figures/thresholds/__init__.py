"""Figures: thresholds of many models. Each module has `draw(cubes)`, which computes nothing; the caption stands beside it."""
