"""Figures: variants of message passing. Each module has `draw(cubes)`, which computes nothing; the caption stands beside it."""
