"""Sequence single-index models: how long SGD takes, and what it learns first (Arnaboldi et al. 2025, arXiv:2506.02651)."""
