"""Generalised approximate message passing on one data set, whose state evolution is `state_evolution` (Troiani et al. 2025,
arXiv:2502.00901).

In reading order:

- gamp: the algorithm
- messages: one iteration
- sample_variance: one iteration with the variance of every sample
- relaxed: one iteration of relaxed belief propagation

May import it: erm, estimators.
"""
