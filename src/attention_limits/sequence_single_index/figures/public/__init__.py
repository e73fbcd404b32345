"""Figures of the public configuration of Arnaboldi et al. 2025 beyond those of the paper. Each module has `draw(cubes)`, which
computes nothing; the caption stands beside it.
"""
