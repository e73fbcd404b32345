"""Replica theory of masked Gaussian sequences: ridge regression of one site on the others (Rende et al. 2024,
arXiv:2304.07235).

    x ~ N(0, K^-1),    K = gamma + W,    W from the Gaussian orthogonal ensemble (off-diagonal variance 1 / L), gamma > 2

In reading order:

- theory, theory_kernels: errors in closed form
- simulation: the same at finite L

May import it: proteins, estimators.
"""
