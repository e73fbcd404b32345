"""Figures: further figures of Bayes-optimal estimates. Each module has `draw(cubes)`, which computes nothing; the caption
stands beside it.
"""
