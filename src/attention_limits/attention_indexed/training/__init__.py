"""Gradient descent on the training error, averaged over its starts (Boncoraglio et al. 2025, arXiv:2506.01582), and the exact
posterior at small dimension.

In reading order:

- gradient_descent, gradient_descent_kernels: Adam from several starts
- layers_descent, layers_descent_kernels: the same for several layers
- untied_descent: untied attention, its keys own or separate
- slice_sampling, slice_sampling_kernels: samples of the posterior of a hardmax layer

May import it: estimators.
"""
