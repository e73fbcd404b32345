"""Question classification with tied attention (Troiani et al. 2025, arXiv:2502.00901, Figure 3, right)."""
