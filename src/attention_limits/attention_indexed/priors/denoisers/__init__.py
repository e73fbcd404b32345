"""Rotationally invariant denoisers of Y = S + sqrt(D) Z (Boncoraglio et al. 2025, arXiv:2506.01582).

For square S: lambda -> lambda - 2 D Re g(lambda), with g the Stieltjes transform of the eigenvalues of Y, or of its singular
values with both signs.

In reading order:

- wishart, wishart_kernels: S = W W^T / sqrt(r d)
- product: S = Q K^T / sqrt(r d)
- rectangular: queries and keys of different dimensions, which need another formula

May import it: priors, two_layers, erm.
"""
