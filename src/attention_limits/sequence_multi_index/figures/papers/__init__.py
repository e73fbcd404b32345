"""The figures of Troiani et al. 2025 (arXiv:2502.00901), beside the published points. Each module has `draw(cubes)`,
which computes nothing; the caption stands beside it.
"""
