"""Sequence multi-index models: deep attention and any other link (Troiani et al. 2025, arXiv:2502.00901)."""
