"""Figures: further figures of state evolution, phases and GAMP. Each module has `draw(cubes)`, which computes nothing; the
caption stands beside it.
"""
