"""State evolution of the Bayes-optimal estimate of Troiani et al. 2025 (arXiv:2502.00901).

    Q_hat = alpha E sum_a g_a g_a^T,    Q <- f(Q_hat)

In reading order:

- fixed_point: the iteration from both starts, with its flags
- linear_response, stability: the linear map at a point, and whether the iteration stays there
- free_entropy, phases: which fixed point is optimal; impossible, hard, easy
- trajectory: Q at each iteration
- generalization, information: what follows from Q
- exact_recovery: the alpha of perfect recovery
- exchangeable/: many layers in four numbers
- published_map: the map of the public program

May import it: weak recovery, erm, estimators, reports.
"""
