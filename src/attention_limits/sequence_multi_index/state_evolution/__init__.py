"""State evolution of the posterior mean and of message passing, Troiani et al. 2025 (arXiv:2502.00901).

    Q_hat = alpha E sum_a g_a g_a^T,    Q <- f(Q_hat)

In reading order:

- fixed_point: the iteration from both starts, with its flags
- linear_response, stability: the linear map at a point, and whether the iteration stays there
- free_entropy, phases: which fixed point is Bayes-optimal
- trajectory: Q at each iteration
- generalization, information: what follows from Q
- exact_recovery: the alpha of perfect recovery, by message passing and optimal
- exchangeable/: many layers in four numbers
- published_map: the map of the public program

May import it: weak recovery, erm, estimators, reports.
"""
