"""The figures of Boncoraglio et al. 2025 (arXiv:2506.01582), and one of two papers on one token, beside the published points.
Each module has `draw(cubes)`, which computes nothing; the caption stands beside it.
"""
