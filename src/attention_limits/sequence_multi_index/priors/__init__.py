"""Priors: the law of the P weights w of one dimension. They give Q = f(Q_hat), the free energy of the weights and draws of w.

    Z(b, Lambda) = E_w exp(b . w - w^T Lambda w / 2),    E[w | b] = d log Z / db    (Troiani et al. 2025, arXiv:2502.00901)

In reading order:

- prior: the class to derive from
- gaussian: standard normal and correlated weights
- overlaps: Q and Q_hat as coordinates of an iteration
- spectrum, correlated_dimensions: Gaussian weights of tokens whose dimensions are correlated
- blocks: rows that read blocks of the dimensions
- mixture, mixture_kernels: binary, sparse and other weights
- loading: priors by the keys of a model

May import it: channels, data, state evolution, GAMP, weak recovery, erm, schema, estimators, reports.
"""
