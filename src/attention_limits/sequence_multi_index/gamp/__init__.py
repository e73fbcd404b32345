"""Generalised approximate message passing on one data set, whose state evolution is `state_evolution` (Troiani et al. 2025,
arXiv:2502.00901).

In reading order:

- gamp: the algorithm
- messages: one iteration

May import it: erm, estimators.
"""
