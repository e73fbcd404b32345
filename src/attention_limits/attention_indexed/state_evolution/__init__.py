"""State evolution of the posterior mean of S (Boncoraglio et al. 2025, arXiv:2506.01582).

    V = mmse(D),    1 / D = alpha information(V),    alpha = n / d^2

In reading order:

- curve: the error against alpha, both solutions, and its limits
- bounded_solutions: bounds where the information is uncertain
- free_entropy: free entropy and mutual information along the curve
- phases: all solutions, the Bayes-optimal one, thresholds
- uniqueness: whether the fixed point is the only one at every alpha
- generalization: errors on a fresh sequence

May import it: two_layers, erm, estimators, reports.
"""
