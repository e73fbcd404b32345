"""Sequence single-index models: steps of SGD, and the direction that it learns (Arnaboldi et al. 2025, arXiv:2506.02651)."""
