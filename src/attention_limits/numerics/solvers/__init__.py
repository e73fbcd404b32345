"""Fixed points, roots and minima of functions without a model.

In reading order:

- fixed_point, anderson: iterations of a noisy map to its fixed point, and their acceleration
- roots: roots of many functions at once
- polynomial_minima: all minima of a polynomial
- cholesky_kernels: factors of small matrices
- small_systems: linear systems of many small matrices

May import it: the families.
"""
