"""Posterior moments of two layers that read two tokens, by an adaptive trapezoid rule in two dimensions (Troiani et al. 2025,
arXiv:2502.00901).

In reading order:

- moments_kernels: the rule and the moments
- lattice_kernels: its lattice
- rows_kernels: the nodes of a row

May import it: channels.channel, channels.rotations.
"""
