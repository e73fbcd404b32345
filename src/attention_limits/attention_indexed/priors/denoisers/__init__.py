"""Rotationally invariant denoisers of Y = S + sqrt(D) Z: lambda -> lambda - 2 D Re g(lambda), g the transform of the law of Y
(Boncoraglio et al. 2025, arXiv:2506.01582).

In reading order:

- wishart, wishart_kernels: S = W W^T / sqrt(r d)
- product: S = Q K^T / sqrt(r d)
- rectangular: queries and keys of different dimensions

May import it: priors, AMP, erm.
"""
