"""The figures of Arnaboldi et al. 2025 (arXiv:2506.02651). Each module has `draw(cubes)`, which computes nothing; the
caption stands beside it.
"""
