"""Gaussian nodes, quadratures, random numbers and statistics.

In reading order:

- gaussian_nodes, hermite: quasi-random nodes of a normal law, Hermite polynomials
- adaptive: many integrals over one variable at once
- random_kernels, von_mises_fisher: random numbers in blocks, and directions on a sphere
- statistics: means with errors, control variates, the two sides of a jump
- chain_diagnostics: Markov chains
- power_laws: exponents of growth

May import it: the families, `plotting`, `pipeline` and `interface`.
"""
