"""Weak recovery: the alpha at which the overlap of a direction becomes unstable at zero (Troiani et al. 2025,
arXiv:2502.00901).

    F(Q) = E_y sum_ab T_ab Q T_ab^T,    T_ab = E[h_a h_b^T | y] - delta_ab I,    alpha ||F|| = 1

In reading order:

- first_threshold: from nothing
- known: directions that are recovered
- branch, crossing: a branch of learned directions, and where the growth along it crosses one
- staircase: one threshold after the other
- growth: the growth of every unlearned layer
- turning: where a branch turns back, and the overlap jumps
- generative_exponent: the next order with information where F vanishes

May import it: estimators, reports.
"""
