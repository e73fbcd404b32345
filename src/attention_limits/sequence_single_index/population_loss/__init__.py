"""Population loss of a student, and its flatness at the uninformed start: the sequence information exponent (Arnaboldi et al.
2025, arXiv:2506.02651).

    R(e, m) = 1/2 E|g|^2 + 1/2 E|F_e|^2 - sum_kappa G_kappa . F_kappa(e) prod_l m_l^kappa_l

g is the target, F_e the student at positional overlap e, m_l its semantic overlap at token l (one m if tied). G_kappa and
F_kappa(e) are their normalised Hermite coefficients.

In reading order:

- quadrature, expansion: Hermite coefficients of a link
- series: loss, gradient and Hessian
- information_exponent: the exponent
- escape_law: steps that SGD needs

May import it: estimators, reports.
"""
