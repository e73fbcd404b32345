"""Sequence single-index models: the steps that SGD needs, and the direction that it learns first (Arnaboldi et al. 2025, arXiv:2506.02651)."""
