"""Figures: gradient descent and the question classifier. Each module has `draw(cubes)`, which computes nothing; the caption
stands beside it.
"""
