"""State evolution of exchangeable layers: at large depth, to first order in 1 / c, the output depends on
the layers before the last one through the sum of their attention matrices alone (Troiani et al. 2025, arXiv:2502.00901,
appendix). Four numbers replace the matrix Q.

In reading order:

- matrices: symmetric matrices that every permutation of the layers keeps
- reduced: the state evolution on them

May import it: estimators.
"""
